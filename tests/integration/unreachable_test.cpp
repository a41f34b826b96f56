// Nodes that can't connect to each other, over TCP on the loopback: others stand between them (R68),
// and errors name the cause.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using namespace std::chrono_literals;
using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::kSoon;
using ::testing::Not;
using testing::Pattern;
using testing::PutSource;
using testing::Sum;
using testing::Text;
using testing::WrongSum;

// Which node can't connect to which address.
class Cuts {
 public:
  void Cut(std::size_t from, const std::string& address) {
    const std::scoped_lock lock(mutex_);
    cut_.emplace(from, address);
  }
  bool Has(std::size_t from, const std::string& address) {
    const std::scoped_lock lock(mutex_);
    return cut_.contains({from, address});
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<std::size_t, std::string>> cut_;
};

class CutTransport final : public net::Transport {
 public:
  CutTransport(std::shared_ptr<Cuts> cuts, std::size_t node, std::unique_ptr<net::Transport> inner)
      : cuts_(std::move(cuts)), node_(node), inner_(std::move(inner)) {}

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override {
    return inner_->Listen(address, std::move(on_accept));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override {
    if (cuts_->Has(node_, address)) return Refuse(std::move(address));
    return inner_->Connect(std::move(address), timeout);
  }

 private:
  static net::Task<Result<net::StreamPtr>> Refuse(std::string address) {
    co_return std::unexpected(
        Error(ErrorCode::kUnavailable, "cannot connect to " + address + ": no route"));
  }

  const std::shared_ptr<Cuts> cuts_;
  const std::size_t node_;
  const std::unique_ptr<net::Transport> inner_;
};

class Unreachable : public ::testing::Test {
 public:
  void Start(std::size_t nodes) {
    ClusterOptions options{.nodes = nodes,
                           .memory_bytes = memory_bytes_,
                           .rate_bytes_per_second = rate_bytes_per_second_};
    options.between = [this](std::unique_ptr<net::Transport> inner) {
      return std::make_unique<CutTransport>(cuts_, started_++, std::move(inner));
    };
    cluster_.emplace(std::move(options));
  }
  void Cut(std::size_t from, std::size_t to) { cuts_->Cut(from, cluster_->node(to).address()); }
  void CutBothWays(std::size_t one, std::size_t other) {
    Cut(one, other);
    Cut(other, one);
  }
  Client client(std::size_t node) { return cluster_->client(node); }
  std::string address(std::size_t node) { return cluster_->node(node).address(); }
  // Whether it comes to say all of these.
  static ::testing::AssertionResult Says(Client& client, const ObjectId& object,
                                         const std::vector<std::string>& parts) {
    std::string last;
    const auto said = [&] {
      const auto why = client.Why(object, kSoon);
      last = why ? *why : why.error().ToString();
      return std::ranges::all_of(parts, [&](const auto& part) { return last.contains(part); });
    };
    return Eventually(said) ? ::testing::AssertionSuccess()
                            : ::testing::AssertionFailure() << "it says: " << last;
  }

 protected:
  std::shared_ptr<Cuts> cuts_ = std::make_shared<Cuts>();
  std::uint64_t memory_bytes_ = ClusterOptions().memory_bytes;
  std::uint64_t rate_bytes_per_second_ = 0;
  std::size_t started_ = 0;
  std::optional<Cluster> cluster_;
};

TEST_F(Unreachable, AGetThatEndsSaysWhoCouldNotBeConnectedToAndWhy) {
  Start(2);
  Cut(1, 0);
  const auto id = client(0).Put(Pattern(1_MiB, 1));
  ASSERT_TRUE(id);
  const auto got = client(1).Get(*id, {.timeout = 500ms});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(got.error().message,
              HasSubstr("n1 at " + address(1) + " from n0: cannot connect to " + address(0) +
                        ": no route"));
}

// A node tries again every second.
TEST_F(Unreachable, TheLogSaysOnceWhomANodeCannotReach) {
  ::testing::internal::CaptureStderr();
  Start(2);
  Cut(1, 0);
  const auto id = client(0).Put(Pattern(1_MiB, 1));
  const auto got = client(1).Get(*id, {.timeout = 2500ms});
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(got);
  const std::string line = "can't reach node n0: cannot connect to " + address(0) + ": no route";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line), log.rfind(line));
  EXPECT_THAT(log, Not(HasSubstr("which no other host can")));
}

TEST_F(Unreachable, AReaderGetsItByAThirdThatNobodyAsked) {
  Start(3);
  CutBothWays(0, 1);
  const std::string bytes = Pattern(3_MiB, 1);
  const auto id = client(0).Put(bytes);
  ASSERT_TRUE(id);
  const auto got = client(1).Get(*id, kSoon);
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(Text(*got) == bytes);
}

TEST_F(Unreachable, AReductionThatHasNoWayAroundNamesBothAddresses) {
  Start(2);
  CutBothWays(0, 1);
  for (std::size_t i = 0; i < 2; ++i) PutSource(client(i), i, 40'000);
  auto options = Sum(2);
  options.timeout = 500ms;
  const auto outcome = client(0).Reduce(options)->Wait();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(outcome.error().message, HasSubstr(address(0)));
  EXPECT_THAT(outcome.error().message, HasSubstr(address(1)));
  EXPECT_THAT(outcome.error().message, HasSubstr("no route"));
}

// n0 serves n1, and n2 beside it, which can't connect to n1. That is all that n0 does at a time.
TEST_F(Unreachable, WhySaysWhomTheHoldersServeAndNamesBothAddressesOfAPair) {
  rate_bytes_per_second_ = 500'000;
  Start(4);
  for (const auto& [from, to] : {std::pair(2, 1), {3, 1}, {3, 2}}) Cut(from, to);
  const auto id = client(0).Put(Pattern(8_MiB, 1));
  ASSERT_TRUE(id);
  std::vector<Client> readers;
  std::vector<Future<Buffer>> gets;
  for (std::size_t i = 1; i < 4; ++i) {
    readers.push_back(client(i));
    gets.push_back(readers.back().GetAsync(*id, kSoon));
    if (i < 3) EXPECT_TRUE(Says(readers.back(), *id, {" bytes from n0, "}));
  }
  EXPECT_TRUE(Says(readers.back(), *id,
                   {"no holder serves it: every holder serves another node, and the first to end "
                    "that is its source: n0 serves n1, n2",
                    "it can't connect from n3 at " + address(3) + " to n1 at " + address(1),
                    "it can't connect from n3 at " + address(3) + " to n2 at " + address(2)}));
}

TEST_F(Unreachable, WhySaysOfAReductionWhoCannotConnectToWhom) {
  Start(2);
  CutBothWays(0, 1);
  for (std::size_t i = 0; i < 2; ++i) PutSource(client(i), i, 40'000);
  const auto options = Sum(2);
  Client asks = client(0);
  const auto sum = asks.Reduce(options);
  ASSERT_TRUE(sum);
  EXPECT_TRUE(Says(asks, sum->target(),
                   {"a reduction into it is under way: ", address(0), address(1), "no route"}));
}

// What passes through a third is kept there, as any copy is.
TEST_F(Unreachable, AThirdWithoutMemoryCannotHelpAndTheErrorsNameBothAddresses) {
  memory_bytes_ = 8_MiB;
  Start(3);
  CutBothWays(0, 1);
  ASSERT_TRUE(client(2).Put(Pattern(7_MiB, 1)));
  constexpr std::size_t kElements = 300'000;
  for (std::size_t i = 0; i < 2; ++i) PutSource(client(i), i, kElements);
  auto options = Sum(2);
  options.timeout = 2s;
  const auto outcome = client(0).Reduce(options)->Wait();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kTimeout);
  const auto got = client(1).Get(options.sources[0], {.timeout = 500ms});
  ASSERT_FALSE(got);
  for (const std::string& message : {outcome.error().message, got.error().message}) {
    EXPECT_THAT(message, HasSubstr(address(0)));
    EXPECT_THAT(message, HasSubstr(address(1)));
    EXPECT_THAT(message, HasSubstr("no route"));
  }
}

// Who asks; whether the nodes of the two sources are cut off from each other one way or the other.
struct CutOff {
  std::size_t asked_by;
  bool one_from_other;
  bool other_from_one;
};

class SourcesOutOfReach : public Unreachable, public ::testing::WithParamInterface<CutOff> {};

TEST_P(SourcesOutOfReach, AreFoldedAndReadByAll) {
  Start(3);
  if (GetParam().one_from_other) Cut(0, 1);
  if (GetParam().other_from_one) Cut(1, 0);
  constexpr std::size_t kElements = 100'000;
  for (std::size_t i = 0; i < 2; ++i) PutSource(client(i), i, kElements);
  const auto sum = client(GetParam().asked_by).Reduce(Sum(2));
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(WrongSum(client(node).Get(sum->target(), kSoon), outcome->used, kElements), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SourcesOutOfReach,
                         ::testing::Values(CutOff{0, true, true}, CutOff{1, true, true},
                                           CutOff{2, true, true}, CutOff{0, true, false},
                                           CutOff{1, true, false}, CutOff{2, true, false},
                                           CutOff{0, false, true}, CutOff{1, false, true},
                                           CutOff{2, false, true}),
                         [](const auto& test) {
                           return "AskedBy" + std::to_string(test.param.asked_by) +
                                  (test.param.one_from_other ? "OneFromOther" : "") +
                                  (test.param.other_from_one ? "OtherFromOne" : "");
                         });

class MembersOutOfReach : public Unreachable, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(MembersOutOfReach, EachHasACopyOfWhatEveryoneReads) {
  const std::size_t nodes = GetParam();
  Start(nodes);
  CutBothWays(0, 1);
  constexpr std::size_t kElements = 200'000;
  for (std::size_t i = 0; i < nodes; ++i) PutSource(client(i), i, kElements);
  auto options = Sum(nodes);
  options.everyone_reads = true;
  const auto sum = client(0).Reduce(options);
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_TRUE(Eventually(
      [&] {
        const auto info = client(0).Info(sum->target(), kSoon);
        return info && std::ranges::count_if(info->holders, &HolderInfo::complete) ==
                           static_cast<std::ptrdiff_t>(nodes);
      },
      30s));
  for (std::size_t node = 0; node < nodes; ++node) {
    EXPECT_EQ(WrongSum(client(node).Get(sum->target(), kSoon), outcome->used, kElements), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, MembersOutOfReach, ::testing::Values(3, 4, 5));

}  // namespace
}  // namespace hoplite

// Each public call is made while one system call fails: the first, then the second, and so on,
// until it makes fewer. It must succeed or give an error in words, nothing may be left of it, and
// the next call must work.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <hoplite/hoplite.h>

#include "base/try.h"
#include "base/units.h"
#include "failing_calls.h"

namespace hoplite {
namespace {

using exhaustion::Call;
using namespace std::chrono_literals;

constexpr auto kTimeout = 5s;
// An operation whose peer can't be reached for a moment waits for the next attempt.
constexpr auto kBound = 20s;
constexpr std::uint64_t kMemory = 32_MiB;
constexpr int kMostCalls = 200;
constexpr int kWarm = 8;
constexpr int kMostWarm = 100;

struct NamedCall {
  const char* name;
  Call call;
};
constexpr NamedCall kCalls[] = {
    {"mmap", Call::kMmap},
    {"madvise", Call::kMadvise},
    {"socket", Call::kSocket},
    {"socketpair", Call::kSocketpair},
    {"accept", Call::kAccept},
    {"connect", Call::kConnect},
    {"memfd_create", Call::kMemfdCreate},
    {"posix_fallocate", Call::kFallocate},
    {"open", Call::kOpen},
    {"fallocate", Call::kDiskFallocate},
    {"pwrite", Call::kPwrite},
    {"pread", Call::kPread},
    {"eventfd", Call::kEventfd},
    {"pipe2", Call::kPipe},
    {"epoll_create1", Call::kEpollCreate},
    {"timerfd_create", Call::kTimerfdCreate},
    {"pthread_create", Call::kPthreadCreate},
    {"recvmsg's descriptor", Call::kDescriptor},
};

std::size_t Descriptors() {
  return static_cast<std::size_t>(
      std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")));
}

std::size_t Threads() {
  return static_cast<std::size_t>(
      std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task")));
}

// The mappings of nodes' memory.
std::size_t Mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.contains("/memfd:hoplite");
  return count;
}

struct Held {
  std::size_t descriptors = Descriptors();
  std::size_t threads = Threads();
  std::size_t mappings = Mappings();
  bool within(const Held& before) const {
    return descriptors <= before.descriptors && threads <= before.threads &&
           mappings <= before.mappings;
  }
};

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// What an operation that could not be done may answer.
void ExpectInWords(const Error& error) {
  EXPECT_TRUE(error.code == ErrorCode::kResourceExhausted ||
              error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout)
      << error.ToString();
  EXPECT_GT(error.message.size(), 10u) << error.ToString();
}

// Does the operation while the n-th call fails, for n = 1, 2, ..., until there is no n-th.
void Exhaust(const std::function<Result<void>()>& operation, const std::function<void()>& settle) {
  // What is made once and then stays is no leak, for example a connection between nodes for each of
  // their loops: as many rounds in a row as there are such ways have to need nothing new.
  Held before;
  int steady = 0;
  for (int round = 0; steady < kWarm && round < kMostWarm; ++round) {
    const Result<void> done = operation();
    ASSERT_TRUE(done) << done.error().ToString();
    settle();
    const Held held;
    steady = held.within(before) ? steady + 1 : 0;
    if (steady == 0) before = held;
  }
  ASSERT_EQ(steady, kWarm) << "each round needs more";
  std::string failed;
  for (const NamedCall& failing : kCalls) {
    int n = 1;
    for (; n < kMostCalls; ++n) {
      SCOPED_TRACE(std::string(failing.name) + " number " + std::to_string(n));
      const auto start = std::chrono::steady_clock::now();
      exhaustion::FailAt(failing.call, n);
      const Result<void> done = operation();
      const bool reached = exhaustion::Disarm();
      EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
      if (!done) ExpectInWords(done.error());
      if (!reached) {
        EXPECT_TRUE(done) << "nothing failed: " << done.error().ToString();
        settle();
        failed += fmt::format("{} {}, ", n - 1, failing.name);
        break;
      }
      const Result<void> next = operation();
      EXPECT_TRUE(next) << "the next one: " << next.error().ToString();
      settle();
      EXPECT_TRUE(Eventually([&] { return Held().within(before); }))
          << Descriptors() << " descriptors, " << before.descriptors << " before; " << Threads()
          << " threads, " << before.threads << " before; " << Mappings() << " mappings, "
          << before.mappings << " before";
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_LT(n, kMostCalls) << failing.name;
  }
  fmt::print("made to fail: {}\n", failed);
}

std::string SocketPath() {
  return std::filesystem::temp_directory_path() /
         ("hoplite-exhaustion-" + std::to_string(::getpid()));
}

DirectoryConfig NewDirectory() { return {.recovery_window = 0ms}; }

NodeConfig NewNode(const Directory& directory, std::string name, std::string socket = {},
                   std::uint64_t memory_bytes = kMemory) {
  return {.directory = {directory.address()},
          .socket = std::move(socket),
          .memory_bytes = memory_bytes,
          .name = std::move(name)};
}

// The start of a member is tested in a process that has no members yet.
TEST(ExhaustedStart, OfADirectory) {
  Exhaust(
      []() -> Result<void> {
        TRY(Directory::Start(NewDirectory()));
        return {};
      },
      [] {});
}

TEST(ExhaustedStart, OfANode) {
  const auto directory = *Directory::Start(NewDirectory());
  int number = 0;
  Exhaust(
      [&]() -> Result<void> {
        TRY(Node::Start(NewNode(*directory, "n" + std::to_string(++number), SocketPath(), 4_MiB)));
        return {};
      },
      [] {});
}

TEST(ExhaustedStart, OfANodeWithADisk) {
  const auto directory = *Directory::Start(NewDirectory());
  int number = 0;
  Exhaust(
      [&]() -> Result<void> {
        NodeConfig config = NewNode(*directory, "n" + std::to_string(++number), {}, 4_MiB);
        config.spill_folder = std::filesystem::temp_directory_path();
        config.spill_limit_bytes = 64_MiB;
        TRY(Node::Start(config));
        return {};
      },
      [] {});
}

TEST(ExhaustedStart, OfALocalCluster) {
  Exhaust(
      []() -> Result<void> {
        TRY(LocalCluster::Start({.nodes = 2, .memory_bytes = 4_MiB}));
        return {};
      },
      [] {});
}

// Two nodes; calls are made by a worker of one.
class ExhaustedCall : public testing::Test {
 protected:
  // Makes the call with each failure, in a cluster that holds nothing else.
  void ExhaustCall(std::function<Result<void>(Client&)> call) {
    Exhaust(
        [&]() -> Result<void> {
          TRY_ASSIGN(Client client, Client::Connect(SocketPath(), kTimeout));
          return call(client);
        },
        [this] { Settle(); });
  }
  // An object that only the other node holds.
  ObjectId Elsewhere(std::uint64_t bytes) {
    return Note(
        *elsewhere_.Put(std::string(bytes, 'x'), {.id = ObjectId::Random(), .timeout = kTimeout}));
  }
  ObjectId Note(ObjectId id) {
    made_.push_back(id);
    return id;
  }
  // Deletes all that was made; then nothing of it is left at either node.
  void Settle() {
    for (const ObjectId& id : made_) EXPECT_TRUE(elsewhere_.Delete(id, {.timeout = kTimeout}));
    made_.clear();
    const auto clean = [](Client& client, const char* name) {
      const auto status = client.Status({.timeout = kTimeout});
      if (!status || status->clients.pins > 0 || status->clients.requests > 1) return false;
      const auto node = std::ranges::find(status->nodes, name, &NodeStatus::name);
      return node != status->nodes.end() && node->used_bytes == 0;
    };
    EXPECT_TRUE(Eventually([&] { return clean(here_, "here"); }));
    EXPECT_TRUE(Eventually([&] { return clean(elsewhere_, "elsewhere"); }));
  }

  std::unique_ptr<Directory> directory_ = *Directory::Start(NewDirectory());
  std::unique_ptr<Node> near_ = *Node::Start(NewNode(*directory_, "here", SocketPath()));
  std::unique_ptr<Node> far_ = *Node::Start(NewNode(*directory_, "elsewhere"));
  Client here_ = near_->client();
  Client elsewhere_ = far_->client();
  std::vector<ObjectId> made_;
};

const CallOptions kWithin{.timeout = kTimeout};

TEST_F(ExhaustedCall, Connect) {
  ExhaustCall([](Client&) { return Result<void>(); });
}

TEST_F(ExhaustedCall, ClientOfTheNodesProcess) {
  ExhaustCall([this](Client&) -> Result<void> {
    Client client = near_->client();
    TRY(client.Status(kWithin));
    return {};
  });
}

TEST_F(ExhaustedCall, Put) {
  const std::string large(8_MiB, 'x');
  ExhaustCall([&](Client& client) -> Result<void> {
    for (const std::size_t size : {std::size_t{100}, std::size_t{200'000}, large.size()}) {
      const PutOptions options{.id = Note(ObjectId::Random()), .timeout = kTimeout};
      TRY(client.Put(std::string_view(large).substr(0, size), options));
    }
    return {};
  });
}

TEST_F(ExhaustedCall, PutAsync) {
  const std::vector<std::byte> large(8_MiB);
  ExhaustCall([&](Client& client) -> Result<void> {
    for (const std::size_t size : {std::size_t{100}, std::size_t{200'000}, large.size()}) {
      const PutOptions options{.id = Note(ObjectId::Random()), .timeout = kTimeout};
      TRY(client.PutAsync(std::span(large).first(size), options).Wait());
    }
    return {};
  });
}

TEST_F(ExhaustedCall, CreateAndSeal) {
  ExhaustCall([&](Client& client) -> Result<void> {
    TRY_ASSIGN(Draft draft,
               client.Create(Note(ObjectId::Random()), 200'000, {.timeout = kTimeout}));
    std::ranges::fill(draft.data(), std::byte{1});
    return draft.Seal(kTimeout);
  });
}

TEST_F(ExhaustedCall, Get) {
  ExhaustCall([&](Client& client) -> Result<void> {
    for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{2_MiB}}) {
      TRY_ASSIGN(const Buffer buffer, client.Get(Elsewhere(size), kWithin));
      EXPECT_EQ(buffer.bytes().size(), size);
    }
    return {};
  });
}

TEST_F(ExhaustedCall, MapPrivate) {
  ExhaustCall([&](Client& client) -> Result<void> {
    TRY_ASSIGN(const Buffer buffer, client.Get(Elsewhere(200'000), kWithin));
    TRY_ASSIGN(const PrivateBuffer mapped, buffer.MapPrivate());
    std::ranges::fill(mapped.bytes(), std::byte{1});
    return {};
  });
}

// With connections of its own, that are not there yet.
TEST_F(ExhaustedCall, GetByANewNode) {
  int number = 0;
  ExhaustCall([&](Client& client) -> Result<void> {
    // A node that can't connect is helped by the near one (R68), whose connection is there already.
    TRY(client.Get(Elsewhere(1_MiB), kWithin));
    const ObjectId id = Elsewhere(1_MiB);
    const std::string name = "n" + std::to_string(++number);
    TRY_ASSIGN(const auto node, Node::Start(NewNode(*directory_, name, {}, 4_MiB)));
    TRY(node->client().Get(id, kWithin));
    return {};
  });
}

TEST_F(ExhaustedCall, GetMany) {
  ExhaustCall([&](Client& client) -> Result<void> {
    const ObjectId ids[] = {Elsewhere(1_MiB), Elsewhere(1_MiB), Elsewhere(100)};
    for (const Result<Buffer>& answer : client.GetMany(ids, kWithin)) TRY(answer);
    return {};
  });
}

TEST_F(ExhaustedCall, GetInto) {
  std::string into(2_MiB, '\0');
  ExhaustCall([&](Client& client) -> Result<void> {
    const ObjectId ids[] = {Elsewhere(into.size()), Elsewhere(100)};
    for (const ObjectId& id : ids) {
      TRY(client.GetInto(id, std::as_writable_bytes(std::span(into)), kWithin));
    }
    return {};
  });
}

TEST_F(ExhaustedCall, Open) {
  ExhaustCall([&](Client& client) -> Result<void> {
    TRY_ASSIGN(Reader reader, client.Open(Elsewhere(2_MiB), kWithin));
    TRY(reader.WaitFor(2_MiB, kTimeout));
    return {};
  });
}

TEST_F(ExhaustedCall, Reduce) {
  ExhaustCall([&](Client& client) -> Result<void> {
    ReduceOptions options{.sources = {Elsewhere(2_MiB), Note(ObjectId::Random())},
                          .dtype = DType::kFloat32};
    options.target = Note(ObjectId::Random());
    options.dtype = DType::kUint8;
    options.timeout = kTimeout;
    TRY(client.Put(std::string(2_MiB, 'y'), {.id = options.sources[1], .timeout = kTimeout}));
    // Sources that are known together always flow the same way, over connections that stay.
    TRY(client.WaitExists(options.sources, options.sources.size(), kWithin));
    TRY_ASSIGN(const Reduction reduction, client.Reduce(options));
    TRY(reduction.Wait());
    return {};
  });
}

TEST_F(ExhaustedCall, DeleteInfoStatus) {
  ExhaustCall([&](Client& client) -> Result<void> {
    const ObjectId id = Elsewhere(1_MiB);
    TRY(client.Info(id, kWithin));
    TRY(client.Status(kWithin));
    return client.Delete(id, kWithin);
  });
}

TEST_F(ExhaustedCall, WaitExists) {
  ExhaustCall([&](Client& client) -> Result<void> {
    const ObjectId ids[] = {Elsewhere(1_MiB), Elsewhere(100)};
    TRY_ASSIGN(const std::vector<ObjectId> existing, client.WaitExists(ids, 2, kWithin));
    if (existing.size() == 2) return {};
    return std::unexpected(Error(ErrorCode::kTimeout, "they were not seen"));
  });
}

TEST_F(ExhaustedCall, Subscribe) {
  ExhaustCall([&](Client& client) -> Result<void> {
    const ObjectId id = ObjectId::Random();
    TRY_ASSIGN(Subscription subscription, client.Subscribe(id, kWithin));
    TRY(client.Put("told", {.id = Note(id), .timeout = kTimeout}));
    TRY(subscription.Next(kTimeout));
    return {};
  });
}

}  // namespace
}  // namespace hoplite

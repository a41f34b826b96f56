// How a small object goes on from node to node (R83); the test plays its peers.
#include "node/give/gives.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "net/handshake.h"
#include "testing/node_by_hand.h"
#include "wire/give.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using protocol::InlineObject;
using protocol::Onward;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

const Version kGiven{{1, 5}};
constexpr std::uint64_t kQuestion = 1;  // of this node's first

class GivesTest : public ::testing::Test {
 protected:
  net::Identity IdentityOf(std::uint64_t node) {
    return {node_.parts().settings.cluster_id, NodeId{node}};
  }
  // A peer that notes the Gives that come to it.
  Onward AddPeer(std::uint64_t number) {
    const Onward peer{{NodeId{number}, fmt::format("n{}", number), fmt::format("n{}:1", number)},
                      100 + number};
    auto listener = node_.transport().Listen(peer.node.address, [this, number](net::StreamPtr in) {
      ++connections_;
      node_.parts().runtime.Spawn(in->loop(), "a peer", Note(in, number));
    });
    EXPECT_TRUE(listener);
    listeners_.push_back(*std::move(listener));
    return peer;
  }
  InlineObject Given(std::vector<Onward> onward, std::uint64_t number = kQuestion) const {
    return {.object = x_,
            .version = kGiven,
            .metadata = "f4",
            .bytes = std::make_shared<const std::string>(bytes_),
            .onward = std::move(onward),
            .number = number};
  }
  // A peer hands this on; true: the connection is still open then.
  bool Hear(const InlineObject& given, std::uint64_t damage = 0) {
    const auto open = node_.Ask(Say(wire::EncodeGive(given), damage));
    node_.Pass(1ms);
    return *open && **open;
  }
  void Get() {
    answer_ = node_.Ask(node_.calls().Get(x_, node_.NewCall()));
    EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  }

  NodeByHand node_;
  const ObjectId x_ = node_.Named("x");
  const std::string bytes_ = std::string(10'000, 'a');
  NodeByHand::Answer<Result<store::CopyPtr>> answer_;
  std::string metadata_ = "f4";
  int connections_ = 0;             // that peers accepted
  std::vector<std::string> noted_;  // "n4 of 104 for n5"

 private:
  net::Task<void> Note(net::StreamPtr stream, std::uint64_t number) {
    const auto greeted = co_await net::Answer(stream, IdentityOf(number));
    if (!greeted) co_return;
    for (;;) {
      const auto frame = co_await (*greeted)->reader.Next();
      if (!frame || !std::holds_alternative<wire::Give>(*frame)) co_return;
      std::vector<std::byte> bytes(std::get<wire::Give>(*frame).payload_bytes);
      if (!co_await (*greeted)->reader.ReceivePayload(bytes)) co_return;
      const auto given = wire::DecodeGive(bytes);
      if (!given || *given->bytes != bytes_ || given->metadata != metadata_) co_return;
      std::string line = fmt::format("n{} of {}", number, given->number);
      for (const Onward& one : given->onward) line += " for " + one.node.name;
      noted_.push_back(line);
    }
  }
  net::Task<bool> Say(std::string message, std::uint64_t damage) {
    const auto stream = co_await node_.transport().Connect("n1:1", 1s);
    if (!stream) co_return false;
    const net::Identity self = IdentityOf(99);
    const NodeId expected{1};
    const auto greeted = co_await net::Greet(*stream, self, expected);
    if (!greeted) co_return false;
    const auto bytes = std::as_bytes(std::span(message));
    std::vector<std::byte> frame = wire::Encode(
        wire::Give{static_cast<std::uint32_t>(bytes.size()), BlockChecksum(bytes) ^ damage});
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    const net::Payload none;
    const auto sent = co_await (*stream)->Send(frame, none);
    net::Signal never((*stream)->loop());
    co_await never.Wait(Now() + 1us);
    const bool open = sent && (*stream)->quiet();
    (*stream)->Close();
    co_return open;
  }

  std::vector<std::unique_ptr<net::Listener>> listeners_;
};

TEST_F(GivesTest, GoOnInHalves) {
  node_.Hear(Given({AddPeer(2), AddPeer(3), AddPeer(4), AddPeer(5)}));
  EXPECT_THAT(noted_, UnorderedElementsAre("n4 of 104 for n5", "n3 of 103", "n2 of 102"));
}

// R83.
TEST_F(GivesTest, OfThisNodesCopyGoToThoseOfTheList) {
  node_.Keep(x_, bytes_, kGiven, store::CopyKind::kPrimary);
  metadata_ = "";
  node_.Hear(protocol::GiveCopy{x_, kGiven, {AddPeer(2), AddPeer(3)}});
  EXPECT_THAT(noted_, UnorderedElementsAre("n3 of 103", "n2 of 102"));
}

TEST_F(GivesTest, OfNoOtherVersionOfTheCopyAreMade) {
  const Onward peer = AddPeer(2);
  node_.Hear(protocol::GiveCopy{x_, kGiven, {peer}});
  node_.Keep(x_, bytes_, Version{{1, 6}}, store::CopyKind::kPrimary);
  node_.Hear(protocol::GiveCopy{x_, kGiven, {peer}});
  EXPECT_THAT(noted_, IsEmpty());
}

TEST_F(GivesTest, ToOnePeerTakeOneConnection) {
  const Onward peer = AddPeer(2);
  for (int i = 0; i < 20; ++i) node_.parts().gives.HandOn(Given({peer}));
  node_.Pass(1ms);
  EXPECT_EQ(noted_.size(), 20U);
  EXPECT_EQ(connections_, 1);
}

TEST_F(GivesTest, AnswerTheOpenQuestionOfTheirNumber) {
  Get();
  EXPECT_TRUE(Hear(Given({})));
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x"));
  ASSERT_TRUE(*answer_ && **answer_);
  EXPECT_EQ((***answer_)->bytes().size(), bytes_.size());
}

TEST_F(GivesTest, OfAnotherNumberOnlyGoOn) {
  Get();
  EXPECT_TRUE(Hear(Given({AddPeer(2)}, kQuestion + 1)));
  EXPECT_THAT(node_.Says(), IsEmpty());
  EXPECT_FALSE(*answer_);
  EXPECT_THAT(noted_, ElementsAre("n2 of 102"));
  node_.Hear(Given({}));
  EXPECT_TRUE(*answer_ && **answer_);
}

TEST_F(GivesTest, ThatAreDamagedGoNoFurther) {
  Get();
  EXPECT_FALSE(Hear(Given({AddPeer(2)}), 1));
  EXPECT_EQ(node_.parts().counters.corrupt_blocks, 1U);
  EXPECT_FALSE(*answer_);
  EXPECT_THAT(noted_, IsEmpty());
  node_.Hear(Given({}));
}

TEST_F(GivesTest, ToAPeerThatSaysNothingHoldLittleMemory) {
  std::vector<net::StreamPtr> silent;
  const auto listener = node_.transport().Listen(
      "n2:1", [&](net::StreamPtr stream) { silent.push_back(std::move(stream)); });
  ASSERT_TRUE(listener);
  const Onward peer{{NodeId{2}, "n2", "n2:1"}, 7};
  for (int i = 0; i < 1'000; ++i) node_.Hear(Given({peer}));
  EXPECT_LE(node_.parts().gives.held_bytes(), 4_MiB);
  EXPECT_GT(node_.parts().gives.held_bytes(), 3_MiB);
  node_.Pass(10s);
  EXPECT_EQ(node_.parts().gives.held_bytes(), 0U);
}

}  // namespace
}  // namespace hoplite::node

#include "directory/members.h"

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

class FakeSession final : public Session {
 public:
  void Send(wire::ShardMessage) override {}
  void Processed() override {}
  void End(wire::Ended) override {}
  void Abort() override {}
};

protocol::NodeInfo Node(int id, const std::string& name) {
  return {NodeId(id), name, "127.0.0.1:" + std::to_string(id)};
}

TEST(Members, ANameInUseIsRefusedAndNamesItsOwner) {
  Members members;
  ASSERT_TRUE(members.Join(Node(1, "a"), std::make_shared<FakeSession>()));
  const auto second = members.Join(Node(2, "a"), std::make_shared<FakeSession>());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(second.error().message.find("127.0.0.1:1"), std::string::npos);
  EXPECT_FALSE(members.Knows(NodeId{2}));
}

TEST(Members, AnAddressInUseIsRefusedAndSaysWhatWouldHelp) {
  Members members;
  const auto first = std::make_shared<FakeSession>();
  ASSERT_TRUE(members.Join(Node(1, "a"), first));
  protocol::NodeInfo late = Node(2, "b");
  late.address = Node(1, "a").address;
  const auto second = members.Join(late, std::make_shared<FakeSession>());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(second.error().message.find("127.0.0.1:1, and so does node 'a'"), std::string::npos);
  EXPECT_NE(second.error().message.find("--advertise"), std::string::npos);
  EXPECT_FALSE(members.Knows(NodeId{2}));
  members.End(first);  // a process that is gone may have left it to the next one
  EXPECT_TRUE(members.Join(late, std::make_shared<FakeSession>()));
}

TEST(Members, TheNewcomerReplacesASuspendedOwnerOfItsName) {
  Members members;
  const auto old = std::make_shared<FakeSession>();
  ASSERT_TRUE(members.Join(Node(1, "a"), old));
  EXPECT_EQ(members.End(old), NodeId{1});
  const auto joined = members.Join(Node(2, "a"), std::make_shared<FakeSession>());
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->replaced_node, NodeId{1});
  EXPECT_FALSE(joined->remembered);
  EXPECT_FALSE(members.Knows(NodeId{1}));
}

TEST(Members, ANewerSessionOfTheSameNodeReplacesTheOlder) {
  Members members;
  const auto first = std::make_shared<FakeSession>();
  const auto second = std::make_shared<FakeSession>();
  ASSERT_TRUE(members.Join(Node(1, "a"), first));
  const auto joined = members.Join(Node(1, "a"), second);
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->remembered);
  EXPECT_EQ(joined->replaced_session, first);
  EXPECT_EQ(joined->replaced_node, kNoNode);
  EXPECT_EQ(members.End(first), kNoNode);
  EXPECT_EQ(members.SessionOf(NodeId{1}), second);
}

TEST(Members, ASuspendedNodeIsRememberedUntilItIsLost) {
  Members members;
  const auto session = std::make_shared<FakeSession>();
  ASSERT_TRUE(members.Join(Node(1, "a"), session));
  members.End(session);
  EXPECT_EQ(members.SessionOf(NodeId{1}), nullptr);
  EXPECT_TRUE(members.Join(Node(1, "a"), session)->remembered);
  members.End(session);
  members.Lose(NodeId{1});
  EXPECT_FALSE(members.Knows(NodeId{1}));
  EXPECT_FALSE(members.Join(Node(1, "a"), session)->remembered);
}

TEST(Members, ANodeMayComeBackUnderAnotherName) {
  Members members;
  ASSERT_TRUE(members.Join(Node(1, "a"), std::make_shared<FakeSession>()));
  ASSERT_TRUE(members.Join(Node(1, "b"), std::make_shared<FakeSession>()));
  EXPECT_TRUE(members.Join(Node(2, "a"), std::make_shared<FakeSession>()));
}

}  // namespace
}  // namespace hoplite::directory

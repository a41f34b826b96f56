#include "node/streams/connects.h"

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

const protocol::NodeInfo kPeer{NodeId(1), "n1", "10.0.0.1:7001"};
const protocol::NodeInfo kOther{NodeId(2), "n2", "10.0.0.2:7001"};

TEST(Connects, ACauseIsToldOnceOfEachPeer) {
  Connects connects;
  EXPECT_EQ(connects.Failed(kPeer, "no route"), "can't reach node n1: no route");
  EXPECT_EQ(connects.Failed(kPeer, "no route"), "");
  EXPECT_EQ(connects.Failed(kOther, "no route"), "can't reach node n2: no route");
}

TEST(Connects, AnotherCauseIsNewsAndOneThatIsKnownIsNot) {
  Connects connects;
  connects.Failed(kPeer, "no route");
  EXPECT_EQ(connects.Failed(kPeer, "refused"), "can't reach node n1: refused");
  EXPECT_EQ(connects.Failed(kPeer, "no route"), "");
}

TEST(Connects, ASuccessIsToldAfterFailuresAndAFailureAfterSuccess) {
  Connects connects;
  EXPECT_EQ(connects.Succeeded(kPeer), "");
  connects.Failed(kPeer, "no route");
  EXPECT_EQ(connects.Succeeded(kPeer), "node n1 at 10.0.0.1:7001 is reached again");
  EXPECT_EQ(connects.Succeeded(kPeer), "");
  EXPECT_EQ(connects.Failed(kPeer, "no route"), "can't reach node n1: no route");
}

TEST(Connects, OfVeryManyPeersSomeAreToldAgain) {
  Connects connects;
  for (int i = 0; i < 3000; ++i) {
    connects.Failed({NodeId(1), "gone", "10.0.0.1:" + std::to_string(i)}, "no route");
  }
  EXPECT_NE(connects.Failed({NodeId(1), "gone", "10.0.0.1:0"}, "no route"), "");
}

}  // namespace
}  // namespace hoplite::node

// A directory that answers nothing: nodes start and stop, and calls end at their deadlines.
#include <gtest/gtest.h>

#include "node/node.h"
#include "testing/cluster.h"
#include "testing/raw_peer.h"

namespace hoplite {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 500ms;

// Something that listens where the directory should, takes connections and says nothing.
TEST(Watchdog, ANodeStartsAndStopsWithoutAnAnswerOfTheDirectory) {
  const testing::RawListener silent;
  const auto start = std::chrono::steady_clock::now();
  const auto node =
      node::Node::Start({.directory = {silent.address()}, .memory_bytes = 16_MiB, .name = "n"});
  ASSERT_TRUE(node) << node.error().ToString();
  const auto view =
      testing::ClientOf(**node).Get(ObjectId::FromName("never"), {.timeout = kTimeout});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kTimeout);
  EXPECT_NE(view.error().message.find("directory shard 0 is away"), std::string::npos)
      << view.error().message;
  (*node)->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

}  // namespace
}  // namespace hoplite

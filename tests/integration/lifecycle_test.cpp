// Clients that are made while their node stops.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

// Each gets a client that works, or one that says why not; nobody hangs, and (under TSan) nobody
// reads what Stop writes.
TEST(Lifecycle, ClientsMayBeMadeWhileTheNodeStops) {
  for (int round = 0; round < 5; ++round) {
    testing::Cluster cluster({.nodes = 1});
    node::Node& node = cluster.node(0);
    std::atomic<int> made{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (;;) {
          const Result<int> socket = node.AttachLocal();
          if (!socket) {
            EXPECT_EQ(socket.error().code, ErrorCode::kUnavailable);
            return;
          }
          ++made;
          ::close(*socket);
        }
      });
    }
    while (made < 20) std::this_thread::yield();
    node.Stop();
    for (std::thread& caller : callers) caller.join();
    EXPECT_FALSE(node.AttachLocal());
  }
}

}  // namespace
}  // namespace hoplite

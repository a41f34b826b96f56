// Clients that are made while their node stops.
#include <atomic>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testing/cluster.h"

namespace {

// Holds up a thread in the middle of AttachLocal: it has seen that the node goes on, and is about
// to speak to the node's loop.
struct Pause {
  std::latch reached{1};
  std::latch over{1};
};
thread_local Pause* pause_here = nullptr;

}  // namespace

// All of this program's calls come here before the C library.
// NOLINTNEXTLINE: the name and the types are the C library's.
extern "C" int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&::socketpair)>(::dlsym(RTLD_NEXT, "socketpair"));
  if (Pause* pause = std::exchange(pause_here, nullptr)) {
    pause->reached.count_down();
    pause->over.wait();
  }
  return real(domain, type, protocol, ends);
}

namespace hoplite {
namespace {

using namespace std::chrono_literals;

// Each call gives a client that works, or one that says why not. No call hangs, and (under TSan)
// none reads what Stop writes.
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

// Before Stop ends the loops it waits for threads that have begun to speak to them.
TEST(Lifecycle, AClientThatIsBeingMadeWhenTheNodeStopsIsRefused) {
  testing::Cluster cluster({.nodes = 1});
  node::Node& node = cluster.node(0);
  Pause pause;
  Result<int> socket = -1;
  std::atomic<bool> stopped{false};
  std::thread caller([&] {
    pause_here = &pause;
    socket = node.AttachLocal();
  });
  pause.reached.wait();
  std::thread stopper([&] {
    node.Stop();
    stopped = true;
  });
  EXPECT_FALSE(testing::Eventually([&] { return stopped.load(); }, 500ms));
  pause.over.count_down();
  caller.join();
  stopper.join();
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace hoplite

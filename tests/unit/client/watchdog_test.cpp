// A node that answers nothing any more: every call of the client ends at its deadline, and nothing
// that goes away waits for it.
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "testing/attached_test.h"
#include "testing/blocking_calls.h"
#include "testing/standstill.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 200ms;
// A client gives a node a second after the deadline, to say what was missing.
constexpr auto kBound = kTimeout + 1s + 3s;

class HungNodeTest : public AttachedTest {
 protected:
  // From here on the node's loop stands still.
  void Hang() { standstill_.emplace(node_.operations().loop()); }

 private:
  std::optional<Standstill> standstill_;
};

TEST_P(HungNodeTest, EveryCallEndsAtItsDeadline) {
  const auto start = std::chrono::steady_clock::now();
  {
    Begun begun(client_);
    Hang();
    ExpectToEndIn(BlockingCalls(begun, kTimeout), kBound);
  }
  client_.Close();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2 * kBound);
}

// The first deadline counts, whoever else would wait for ever.
TEST_P(HungNodeTest, WaitAnyEndsAtTheFirstDeadline) {
  const auto never = client_.GetAsync(ObjectId::Random());
  const auto soon = client_.GetAsync(ObjectId::Random(), {.timeout = kTimeout});
  Hang();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(WaitAny({never, soon}), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kBound);
  client_.Close();
}

HOPLITE_TEST_BOTH_WAYS(HungNodeTest);

// Connections are taken by the kernel; nobody says Welcome.
TEST(HungNode, AttachingEndsAtItsDeadline) {
  const std::string path = FreshSocketPath();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  // The second and third find the queue full.
  std::vector<BlockingCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back({"Connect", [&path] {
                       auto error = ErrorOf(Client::Connect(path, kTimeout));
                       // A full queue of connections is a node that can't be reached.
                       if (error && error->code == ErrorCode::kUnavailable) {
                         error = Error(ErrorCode::kTimeout, error->message);
                       }
                       return error;
                     }});
  }
  ExpectToEndIn(calls, kBound);
  ::close(listener);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace hoplite::test

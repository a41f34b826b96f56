// A shard whose loop is behind: what came meanwhile.
#include "directory/directory_service.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

class KeptSession final : public Session {
 public:
  void Send(wire::ShardMessage message) override { sent.push_back(std::move(message)); }
  void Processed() override {}
  void End(wire::Ended) override {}
  void Abort() override {}

  std::vector<wire::ShardMessage> sent;
};

// An attempt that was given up must cost nothing more. Otherwise attempts pile up, each one as
// expensive as the node has objects, and none is answered in time.
TEST(DirectoryService, ANodeThatHungUpBeforeItsHelloWasReadIsNotGreeted) {
  asio::io_context loop;
  const auto service =
      std::make_shared<DirectoryService>(loop, ServiceOptions(), Admission({.state = {.id = 1}}));
  const auto given_up = std::make_shared<KeptSession>();
  const auto present = std::make_shared<KeptSession>();
  const wire::Hello hello{.node = {NodeId{1}, "n1", "127.0.0.1:1"}};
  service->Receive(given_up, {.hello = hello});
  service->Closed(given_up);
  service->Receive(present, {.hello = hello});
  loop.poll();
  EXPECT_TRUE(given_up->sent.empty());
  ASSERT_EQ(present->sent.size(), 1u);
  ASSERT_TRUE(present->sent.front().welcome);
  EXPECT_FALSE(present->sent.front().welcome->remembered);
  service->Shutdown(Error(ErrorCode::kUnavailable, "the test ends"));
}

}  // namespace
}  // namespace hoplite::directory

// A turn of a shard is bounded: a node is heard while the work of a large loss, or of another
// node's large message, is still under way.
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "directory/directory_service.h"

namespace hoplite::directory {
namespace {

// A session that takes everything at once and acknowledges it.
class CountingSession final : public Session {
 public:
  explicit CountingSession(std::function<void(std::uint64_t)> took) : took_(std::move(took)) {}

  void Send(wire::ShardMessage message) override {
    actions_ += message.actions.size();
    if (!message.actions.empty()) told_ = ++all_told_;
    if (message.heartbeat_ack) heard_before_ack_ = actions_;
    if (message.number) took_(*message.number);
  }
  void Processed() override {}
  void End(wire::Ended) override {}
  void Abort() override {}

  std::size_t actions() const { return actions_; }
  std::optional<std::size_t> heard_before_ack() const { return heard_before_ack_; }
  // Which message with actions, of all that left, was its last.
  std::size_t told() const { return told_; }

 private:
  static inline std::size_t all_told_ = 0;
  const std::function<void(std::uint64_t)> took_;
  std::size_t actions_ = 0;
  std::optional<std::size_t> heard_before_ack_;
  std::size_t told_ = 0;
};

class ServiceTurns : public ::testing::Test {
 protected:
  static constexpr std::size_t kObjects = 20'000;

  ServiceTurns() { options_.planner.recovery_window = Duration{0}; }

  void Start() {
    service_ = std::make_shared<DirectoryService>(
        loop_, options_, Admission({.shards = {"here"}, .state = {.id = 1}}));
  }
  std::shared_ptr<CountingSession> Join(std::uint64_t node) {
    auto self = std::make_shared<std::weak_ptr<CountingSession>>();
    auto session = std::make_shared<CountingSession>(
        [this, self](std::uint64_t number) { service_->Receive(self->lock(), {.taken = number}); });
    *self = session;
    return Greet(session, node);
  }
  // A node that does not read what it is told.
  std::shared_ptr<CountingSession> JoinDeaf(std::uint64_t node) {
    return Greet(std::make_shared<CountingSession>([](std::uint64_t) {}), node);
  }
  std::shared_ptr<CountingSession> Greet(std::shared_ptr<CountingSession> session,
                                         std::uint64_t node) {
    wire::Hello hello;
    hello.node = {NodeId(node), "n" + std::to_string(node), "x:" + std::to_string(node)};
    service_->Receive(session, {.hello = hello, .events = {protocol::InventoryEnd{}}});
    return session;
  }
  static ObjectId Id(std::size_t i) { return ObjectId::FromName(std::to_string(i)); }
  template <typename Make>
  static wire::NodeMessage OfAll(Make make) {
    wire::NodeMessage message;
    for (std::size_t i = 0; i < kObjects; ++i) message.events.push_back(make(Id(i)));
    return message;
  }
  static protocol::NodeEvent Copy(const ObjectId& object) {
    const Layout layout = Layout::For(16);
    protocol::Held held{object, Version{{1, 1}}, layout, "", layout.full_marks()};
    held.complete = true;
    return held;
  }
  void RunUntilQuiet() {
    while (loop_.poll() > 0) {
    }
  }

  asio::io_context loop_{1};
  ServiceOptions options_{.lease = std::chrono::hours(1)};
  std::shared_ptr<DirectoryService> service_;
};

TEST_F(ServiceTurns, HeartbeatsAreAnsweredBetweenTheSlicesOfALoss) {
  Start();
  const auto holder = Join(1);
  const auto watcher = Join(2);
  service_->Receive(holder, OfAll(Copy));
  service_->Receive(watcher, OfAll([](const ObjectId& id) { return protocol::Subscribe{id}; }));
  RunUntilQuiet();
  ASSERT_EQ(watcher->actions(), kObjects);  // where each copy is
  service_->Closed(holder);
  RunUntilQuiet();
  asio::post(loop_, [&] { service_->Expire(NodeId(1)); });
  loop_.poll_one();
  service_->Receive(watcher, {.heartbeat = 1});
  RunUntilQuiet();
  EXPECT_EQ(watcher->actions(), 3 * kObjects);  // and that it is gone, and with whom
  ASSERT_TRUE(watcher->heard_before_ack());
  EXPECT_LT(*watcher->heard_before_ack(), kObjects + kObjects / 2);
}

TEST_F(ServiceTurns, StatusNamesTheNodeForWhichMostWaits) {
  Start();
  const auto talker = Join(1);
  const auto deaf = JoinDeaf(2);
  const auto shown = [this] {
    protocol::SessionQueuesView queues;
    service_->Status({}, [&](const protocol::StatusPage& page) { queues = page.shard.queues; });
    RunUntilQuiet();
    return queues;
  };
  EXPECT_EQ(shown().most_bytes, 0U);
  EXPECT_EQ(shown().most_node, "");
  EXPECT_EQ(shown().limit_bytes, options_.session_queue_bytes);
  service_->Receive(deaf, OfAll([](const ObjectId& id) { return protocol::Subscribe{id}; }));
  service_->Receive(talker, OfAll(Copy));
  RunUntilQuiet();
  EXPECT_GT(shown().most_bytes, kObjects);
  EXPECT_EQ(shown().most_node, "n2");
}

TEST_F(ServiceTurns, AnothersLargeMessageIsAppliedInParts) {
  Start();
  const auto talker = Join(1);
  const auto listener = Join(2);
  service_->Receive(listener, OfAll([](const ObjectId& id) { return protocol::Subscribe{id}; }));
  RunUntilQuiet();
  std::size_t turns_between = 0;
  service_->Receive(talker, OfAll(Copy));
  while (listener->actions() < kObjects && loop_.poll_one() > 0) ++turns_between;
  EXPECT_EQ(listener->actions(), kObjects);
  EXPECT_GE(turns_between, kObjects / 1000);
}

// What a message is written for takes time: who waits for an object is told before who put it.
TEST_F(ServiceTurns, ThoseWhoDidNotSpeakAreToldFirst) {
  Start();
  const auto first = Join(1);
  const auto second = Join(2);
  const auto put = [](const ObjectId& id) {
    const auto bytes = std::make_shared<const std::string>("sixteen bytes...");
    return wire::NodeMessage{
        .events = {protocol::Create{id, Layout::For(bytes->size()), "", bytes}}};
  };
  for (const auto& [putter, getter] : {std::pair(first, second), std::pair(second, first)}) {
    const ObjectId id = ObjectId::Random();
    service_->Receive(getter, {.events = {protocol::Locate{id}}});
    RunUntilQuiet();
    const std::size_t before = getter->told();
    service_->Receive(putter, put(id));
    RunUntilQuiet();
    EXPECT_GT(getter->told(), before);
    EXPECT_GT(putter->told(), getter->told());
  }
}

// Words that many nodes say at once wait for their turns; signs of life do not (R43).
TEST_F(ServiceTurns, HeartbeatsAndAcknowledgementsDoNotWaitBehindWhatOthersSaid) {
  options_.pace.window = options_.pace.first_window = 1024;
  Start();
  const auto talker = Join(1);
  const auto listener = Join(2);
  service_->Receive(listener, OfAll([](const ObjectId& id) { return protocol::Subscribe{id}; }));
  RunUntilQuiet();
  for (int i = 0; i < 10; ++i) service_->Receive(talker, OfAll(Copy));
  loop_.poll_one();
  service_->Receive(listener, {.heartbeat = 1});
  for (int turn = 0; turn < 20; ++turn) loop_.poll_one();
  EXPECT_TRUE(listener->heard_before_ack());
  EXPECT_GT(listener->actions(), 60U);  // several windows: its acknowledgements were heard
}

}  // namespace
}  // namespace hoplite::directory

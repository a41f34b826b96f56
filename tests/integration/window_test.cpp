// Objects that are larger than the reader's node: they come through a window, as to a leaf (R38).
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "node/streams/receive_sink.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using namespace std::chrono_literals;

constexpr std::uint64_t kSmallStore = 2_MiB;
constexpr std::uint64_t kLinkRate = 20'000'000;

// Nodes with room for the object, and a last one without.
class Window : public ::testing::Test {
 protected:
  void Start(ClusterOptions options) {
    cluster_.emplace(options);
    options.memory_bytes = kSmallStore;
    options.socket = std::filesystem::temp_directory_path() /
                     ("hoplite-window-" + std::to_string(::getpid()) + ".sock");
    small_ = cluster_->Add(options);
  }
  void TearDown() override {
    EXPECT_TRUE(Eventually([&] { return cluster_->node(small_).usage().used_bytes == 0; }))
        << "memory is left";
  }

  ObjectId Put(std::size_t node, const std::string& bytes, const ObjectId& id = {}) {
    return cluster_->client(node).Put(bytes, {.id = id, .timeout = 30s}).value();
  }
  Client Worker() { return Client::Connect(cluster_->node(small_).socket()).value(); }
  std::uint64_t Received() { return cluster_->node(small_).counters().bytes_received; }
  void ExpectGets(Client client, const ObjectId& id, const std::string& bytes) {
    std::string into(bytes.size() + 3, '\0');
    const auto size = client.GetInto(id, std::as_writable_bytes(std::span(into)), kSoon);
    ASSERT_TRUE(size) << size.error().ToString();
    into.resize(*size);
    EXPECT_TRUE(into == bytes);
  }

  std::optional<Cluster> cluster_;
  std::size_t small_ = 0;
};

TEST_F(Window, BringsALargerObjectToWorkersAndToTheNodesOwnProcess) {
  Start({.nodes = 1});
  const std::string bytes = Pattern(8_MiB + 4711, 1);
  const ObjectId id = Put(0, bytes);
  ExpectGets(Worker(), id, bytes);
  ExpectGets(cluster_->client(small_), id, bytes);
  const auto view = cluster_->Find(id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->holders.size(), 1u) << "a leaf is no holder";
  EXPECT_EQ(cluster_->client(small_).Get(id, kSoon).error().code, ErrorCode::kResourceExhausted);
}

// From 32 MiB on there are two stripes, whose blocks must come in the object's order.
TEST_F(Window, BringsSeveralStripes) {
  Start({.nodes = 1});
  const std::string bytes = Pattern(33_MiB, 2);
  ExpectGets(Worker(), Put(0, bytes), bytes);
}

// A piece of another stripe may begin with less than a block.
TEST(CopySinkTest, AMarkOfOneStripeIsNotTakenForThatOfAnother) {
  store::ObjectStore store(store::CreateHeapSegment(1_MiB), nullptr);
  const Layout layout = Layout::For(1_MiB, 2);
  const auto copy = store.Create(ObjectId::Random(), layout, "", store::CopyKind::kTransient);
  ASSERT_TRUE(copy);
  node::CopySink sink(*copy);
  sink.Take(0, layout.block_at(0, 0), 4711);
  sink.Flush(0);
  sink.Flush(1);
  EXPECT_EQ((*copy)->marks(), (StripeMarks{1, 0}));
}

TEST_F(Window, IsFilledWhileTheObjectIsMade) {
  Start({.nodes = 1});
  const std::string bytes = Pattern(6_MiB, 3);
  const ObjectId id = ObjectId::FromName("growing");
  auto draft = cluster_->client(0).Create(id, bytes.size(), {.timeout = 30s});
  ASSERT_TRUE(draft);
  std::jthread reader([&] { ExpectGets(Worker(), id, bytes); });
  std::memcpy(draft->data().data(), bytes.data(), bytes.size());
  ASSERT_TRUE(draft->Advance(3_MiB));
  EXPECT_TRUE(Eventually([&] { return Received() >= 3_MiB; }));
  ASSERT_TRUE(draft->Advance(bytes.size()));
  ASSERT_TRUE(draft->Seal());
}

TEST_F(Window, GoesOnAtItsMarkWhenTheSourceDies) {
  Start({.nodes = 2, .rate_bytes_per_second = kLinkRate});
  const std::string bytes = Pattern(5_MiB, 4);
  const ObjectId id = Put(0, bytes);
  ASSERT_TRUE(cluster_->client(1).Get(id, kSoon));
  std::jthread reader([&] { ExpectGets(Worker(), id, bytes); });
  ASSERT_TRUE(Eventually([&] { return Received() > 2_MiB; }));
  const auto view = cluster_->Find(id);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->transfers.size(), 1u);
  cluster_->Stop(view->transfers[0].from_name == "n0" ? 0 : 1);
  reader.join();
  EXPECT_LT(Received(), bytes.size() + 2_MiB) << "it started over";
}

TEST_F(Window, StartsOverWithTheNewVersionAlone) {
  ClusterOptions options{.nodes = 2, .rate_bytes_per_second = kLinkRate};
  options.directory.service.grace = 100ms;
  Start(options);
  const ObjectId id = Put(0, Pattern(5_MiB, 5), ObjectId::FromName("again"));
  const std::string second = Pattern(4_MiB, 6);
  std::string into(8_MiB, '\0');
  Result<std::uint64_t> size;
  std::jthread reader(
      [&] { size = Worker().GetInto(id, std::as_writable_bytes(std::span(into)), kSoon); });
  ASSERT_TRUE(Eventually([&] { return Received() > 2_MiB; }));
  cluster_->Stop(0);
  Put(1, second, id);
  reader.join();
  ASSERT_TRUE(size) << size.error().ToString();
  into.resize(*size);
  EXPECT_TRUE(into == second);
}

// The object is not finished until both have given up.
TEST_F(Window, ACancelledOneAndALateOneLeaveTheWindowToTheNext) {
  Start({.nodes = 1});
  const std::string bytes = Pattern(5_MiB, 7);
  const ObjectId id = ObjectId::FromName("unfinished");
  auto draft = cluster_->client(0).Create(id, bytes.size(), {.timeout = 30s});
  ASSERT_TRUE(draft);
  std::memcpy(draft->data().data(), bytes.data(), bytes.size());
  ASSERT_TRUE(draft->Advance(3_MiB));
  std::string into(bytes.size(), '\0');
  const auto room = std::as_writable_bytes(std::span(into));
  // On a busy machine nothing may have arrived in that time: then it is given more.
  std::string said;
  for (auto timeout = 50ms; timeout < 30s && !said.contains("it has arrived up to"); timeout *= 2) {
    const auto late = Worker().GetInto(id, room, {.timeout = timeout});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
    said = late.error().message;
  }
  EXPECT_NE(said.find("it has arrived up to"), std::string::npos) << said;
  Client client = Worker();
  std::optional<Result<std::uint64_t>> size;
  const std::uint64_t before = Received();
  std::jthread reader([&] { size = client.GetInto(id, room, kSoon); });
  ASSERT_TRUE(Eventually([&] { return Received() > before + 1_MiB; }));
  // Two more wait for the window meanwhile.
  std::jthread next([&] { ExpectGets(Worker(), id, bytes); });
  std::jthread other([&] { ExpectGets(cluster_->client(small_), id, bytes); });
  client.Close();
  reader.join();
  ASSERT_FALSE(*size);
  EXPECT_EQ(size->error().code, ErrorCode::kCancelled);
  ASSERT_TRUE(draft->Advance(bytes.size()));
  ASSERT_TRUE(draft->Seal(30s));
}

TEST_F(Window, ADeleteEndsIt) {
  Start({.nodes = 1, .rate_bytes_per_second = kLinkRate});
  const ObjectId id = Put(0, Pattern(8_MiB, 8));
  std::string into(8_MiB, '\0');
  Result<std::uint64_t> size;
  std::jthread reader([&] {
    size = cluster_->client(small_).GetInto(id, std::as_writable_bytes(std::span(into)), kSoon);
  });
  ASSERT_TRUE(Eventually([&] { return Received() > 1_MiB; }));
  ASSERT_TRUE(cluster_->client(0).Delete(id, kSoon));
  reader.join();
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code, ErrorCode::kDeleted);
}

// A reader that takes nothing of what lies ready for four times the stall time loses its window.
TEST_F(Window, AStoppedReaderHoldsNobodyUp) {
  Start({.nodes = 1, .stall = 300ms});
  const std::string bytes = Pattern(8_MiB, 9);
  const ObjectId id = Put(0, bytes);
  // This client opens the window, and then sleeps.
  const auto socket = cluster_->node(small_).AttachLocal();
  ASSERT_TRUE(socket);
  const auto segment = cluster_->node(small_).segment();
  const auto stopped = client::Connection::Attach(
      *socket, client::SegmentMap::Of(segment->bytes(), segment->read_only_descriptor(), segment),
      kNever);
  ASSERT_TRUE(stopped);
  client::local::Request open;
  open.mutable_open()->set_object(std::string(id.view()));
  open.mutable_open()->set_window(true);
  const auto view = (*stopped)->Call(std::move(open), kNever);
  ASSERT_TRUE(view) << view.error().ToString();
  EXPECT_EQ(view->view().window(), kSmallStore / 4);
  ExpectGets(Worker(), id, bytes);
}

// The directory restarts, and knows nothing of the leaf.
TEST_F(Window, GoesOnWhileTheDirectoryRestarts) {
  ClusterOptions options{.nodes = 1, .rate_bytes_per_second = kLinkRate};
  options.directory.service.planner.recovery_window = 200ms;
  Start(options);
  const std::string bytes = Pattern(5_MiB, 10);
  const ObjectId id = Put(0, bytes);
  std::jthread reader([&] { ExpectGets(Worker(), id, bytes); });
  ASSERT_TRUE(Eventually([&] { return Received() > 2_MiB; }));
  cluster_->directory().Restart(0);
  reader.join();
  EXPECT_LT(Received(), bytes.size() + 2_MiB) << "it started over";
}

}  // namespace
}  // namespace hoplite

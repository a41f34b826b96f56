// The public classes wired to the real node and directory.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hoplite/hoplite.h>

#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

TEST(PublicApiTest, ClusterInOneProcess) {
  const auto cluster = LocalCluster::Start({.nodes = 3});
  ASSERT_TRUE(cluster) << cluster.error().ToString();
  const auto bytes = Pattern(3'000'000);
  const auto id = (*cluster)->client(0).Put(bytes, {.metadata = "m", .timeout = 10s});
  ASSERT_TRUE(id) << id.error().ToString();
  for (std::size_t i = 0; i < (*cluster)->size(); ++i) {
    const auto view = (*cluster)->client(i).Get(*id, {.timeout = 10s});
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Equal(view->bytes(), bytes));
    EXPECT_EQ(view->metadata(), "m");
  }
  std::vector<std::byte> into(bytes.size());
  EXPECT_EQ((*cluster)->client(2).GetInto(*id, into, {.timeout = 10s}), bytes.size());
  EXPECT_TRUE(Equal(into, bytes));
}

TEST(PublicApiTest, ANodeGivesItsNumbers) {
  const auto cluster = LocalCluster::Start({.nodes = 1}).value();
  ASSERT_TRUE(cluster->client(0).Put(Pattern(100'000)));
  const std::vector<NodeMetric> metrics = cluster->node(0).Metrics();
  ASSERT_FALSE(metrics.empty());
  for (const NodeMetric& one : metrics) {
    const bool ours = one.name.starts_with("hoplite_");
    EXPECT_TRUE(ours || one.name.starts_with("process_")) << one.name;
    EXPECT_EQ(one.label.empty(), one.label_value.empty()) << one.name;
  }
  EXPECT_TRUE(std::ranges::any_of(metrics, [](const NodeMetric& one) {
    return one.name.ends_with("_bytes") && one.value >= 100'000;
  }));
}

TEST(PublicApiTest, AChannelPublishesWithoutWaiting) {
  const auto cluster = LocalCluster::Start({.nodes = 2}).value();
  Client a = cluster->client(0);
  Client b = cluster->client(1);
  Channel publisher = a.OpenChannel("model").value();
  const Channel reader = b.OpenChannel("model").value();
  const auto bytes = Pattern(1'000'000);
  const std::vector<Part> parts{{.name = "weights", .bytes = bytes}};
  const auto published = publisher.PublishAsync(parts);
  const Snapshot seen = reader.Get({.timeout = 10s}).value();
  EXPECT_EQ(published.Wait(10s), seen.version());
  EXPECT_TRUE(Equal(seen.Find("weights")->bytes, bytes));
  Channel rival = b.OpenChannel("model").value();
  EXPECT_EQ(CodeOf(rival.PublishAsync(parts).Wait(10s)), ErrorCode::kConflict);
}

TEST(PublicApiTest, NumbersNeedNoCasts) {
  const auto cluster = LocalCluster::Start({.nodes = 2}).value();
  Client a = cluster->client(0);
  Client b = cluster->client(1);
  const std::vector<float> numbers{1, 2.5, -3};
  const ObjectId put = a.Put(numbers, {.timeout = 10s}).value();
  const ObjectId asynchronous = *a.PutAsync(std::span<const float>(numbers)).Wait(10s);
  for (const ObjectId& id : {put, asynchronous}) {
    const Buffer view = b.Get(id, {.timeout = 10s}).value();
    EXPECT_THAT(*view.as<float>(), testing::ElementsAreArray(numbers));
    EXPECT_EQ(CodeOf(view.as<double>()), ErrorCode::kInvalidArgument) << "12 bytes";
    PrivateBuffer own = view.MapPrivate().value();
    own.as<float>().value()[0] = 7;
    EXPECT_EQ(own.as<float>().value()[0], 7);
  }
  std::array<float, 3> into{};
  EXPECT_EQ(b.GetInto(put, into, {.timeout = 10s}), sizeof into);
  EXPECT_THAT(into, testing::ElementsAreArray(numbers));
  Draft draft = a.Create(ObjectId::FromName("draft"), 4 * sizeof(std::int64_t)).value();
  draft.as<std::int64_t>().value()[3] = -1;
  ASSERT_TRUE(draft.Seal(10s));
  const auto got = b.Get(draft.id(), {.timeout = 10s});
  EXPECT_EQ(got->as<std::int64_t>().value()[3], -1);
  alignas(8) const std::array<std::byte, 16> bytes{};
  EXPECT_TRUE(ElementsOf<double>(std::span(bytes)));
  EXPECT_EQ(CodeOf(ElementsOf<double>(std::span(bytes).subspan(4, 8))),
            ErrorCode::kInvalidArgument);
}

TEST(PublicApiTest, ClientsOfAClusterKnowItAndWhatExistsInIt) {
  const auto one = LocalCluster::Start({.nodes = 2}).value();
  const auto other = LocalCluster::Start({.nodes = 1}).value();
  Client a = one->client(0);
  Client b = one->client(1);
  EXPECT_EQ(a.node_name(), one->node(0).name());
  const auto cluster = a.cluster_id();
  ASSERT_TRUE(cluster) << cluster.error().ToString();
  EXPECT_EQ(cluster->size(), 16u);
  EXPECT_EQ(b.cluster_id(), cluster);
  EXPECT_NE(other->client(0).cluster_id(), cluster);

  const std::vector<ObjectId> ids{ObjectId::Random(), ObjectId::Random(), ObjectId::Random()};
  ASSERT_TRUE(a.Put("inside the directory", {.id = ids[1], .timeout = 10s}));
  ASSERT_TRUE(a.Put(Pattern(1'000'000), {.id = ids[2], .timeout = 10s}));
  EXPECT_THAT(*b.WaitExists(ids, 2, {.timeout = 10s}), testing::ElementsAre(ids[1], ids[2]));
  Draft draft = a.Create(ids[0], 1'000'000, {.timeout = 10s}).value();
  ASSERT_TRUE(draft.Advance(500'000));
  EXPECT_EQ(b.WaitExists(ids, 3, {.timeout = 100ms})->size(), 2u) << "half of it is none";
  const auto all = b.GetAsync(ids[0], {.timeout = 10s});
  ASSERT_TRUE(draft.Seal(10s));
  EXPECT_EQ(b.WaitExists(ids, 3, {.timeout = 10s})->size(), 3u);
  ASSERT_TRUE(a.Delete(ids[2], {.timeout = 10s}));
  EXPECT_EQ(b.WaitExists(ids, 3, {.timeout = 10s}).error().code, ErrorCode::kDeleted);
  EXPECT_EQ(b.WaitExists(ids, 2, {.timeout = 10s})->size(), 2u);
  EXPECT_EQ((*one).node(1).name(), b.node_name());
  // Nothing was fetched for it.
  EXPECT_EQ(b.Info(ids[1], {.timeout = 10s})->transfers.size(), 0u);
}

// Or a program that was started meanwhile would keep ports and connections open after our end.
TEST(PublicApiTest, ProgramsThatAreStartedInheritNoSocket) {
  const auto directory = Directory::Start({.recovery_window = 0ms});
  ASSERT_TRUE(directory) << directory.error().ToString();
  NodeConfig config{.directory = {(*directory)->address()}, .memory_bytes = 16 << 20};
  const auto one = Node::Start(config);
  config.socket = std::filesystem::temp_directory_path() /
                  ("hoplite-exec-" + std::to_string(::getpid()) + ".sock");
  const auto other = Node::Start(config);
  ASSERT_TRUE(one && other);
  const auto worker = Client::Connect(config.socket);
  ASSERT_TRUE(worker) << worker.error().ToString();
  const auto id = (*one)->client().Put(Pattern(200'000), {.timeout = 10s});
  ASSERT_TRUE(Client(*worker).Get(*id, {.timeout = 10s}));
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    struct stat about{};
    if (::fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    ++sockets;
    EXPECT_TRUE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC)
        << descriptor << " is " << std::filesystem::read_symlink(entry.path());
  }
  EXPECT_GE(sockets, 8) << "ports, sessions, and a data connection";
}

TEST(PublicApiTest, BuffersOutliveTheirCluster) {
  std::optional<Buffer> view;
  std::optional<Client> client;
  {
    const auto cluster = LocalCluster::Start({.nodes = 1});
    ASSERT_TRUE(cluster) << cluster.error().ToString();
    client = (*cluster)->client(0);
    const auto id = client->Put(Pattern(200'000), {.timeout = 10s});
    ASSERT_TRUE(id) << id.error().ToString();
    view = client->Get(*id, {.timeout = 10s}).value();
    (*cluster)->Stop();
    EXPECT_EQ(CodeOf((*cluster)->client(0).Put("x")), ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(Equal(view->bytes(), Pattern(200'000)));
  EXPECT_EQ(CodeOf(client->Put("x")), ErrorCode::kUnavailable);
}

// All of them return, and only when it has stopped.
void StopFromSeveralThreads(const std::function<void()>& stop) {
  std::latch together{4};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      stop();
    });
  }
}

TEST(PublicApiTest, SeveralThreadsMayStopADirectory) {
  for (int round = 0; round < 10; ++round) {
    const auto directory = Directory::Start({.recovery_window = 0ms}).value();
    std::mutex one_after_the_other;
    StopFromSeveralThreads([&] {
      directory->Stop();
      const std::scoped_lock lock(one_after_the_other);
      EXPECT_TRUE(Directory::Start({.listen = directory->address()})) << "its port is free";
    });
  }
}

TEST(PublicApiTest, SeveralThreadsMayStopAClusterAndItsNodes) {
  for (int round = 0; round < 3; ++round) {
    const auto cluster = LocalCluster::Start({.nodes = 2, .memory_bytes = 1 << 20}).value();
    StopFromSeveralThreads([&] { cluster->node(1).Stop(); });
    StopFromSeveralThreads([&] { cluster->Stop(); });
    EXPECT_EQ(CodeOf(cluster->client(0).Put("x")), ErrorCode::kUnavailable);
  }
}

// Else it waits for the name for 7 s: the node that has it might be dead.
TEST(PublicApiTest, TheStartOfANodeCanBeStopped) {
  const auto cluster = LocalCluster::Start({.nodes = 1, .memory_bytes = 1 << 20}).value();
  std::stop_source stop;
  auto started = std::async(std::launch::async, [&] {
    return CodeOf(Node::Start({.directory = {cluster->directory_address()},
                               .memory_bytes = 1 << 20,
                               .name = cluster->node(0).name()},
                              stop.get_token()));
  });
  EXPECT_EQ(started.wait_for(200ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_EQ(started.wait_for(4s), std::future_status::ready);
  EXPECT_EQ(started.get(), ErrorCode::kCancelled);
}

TEST(PublicApiTest, WrongConfigurationsAreRefused) {
  EXPECT_EQ(CodeOf(Node::Start({.directory = {"127.0.0.1:1"}})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Node::Start({.memory_bytes = 1 << 20})), ErrorCode::kInvalidArgument);
  NodeConfig config{.directory = {"127.0.0.1:1"}, .memory_bytes = 1 << 20};
  EXPECT_TRUE(config.Validate());
  for (const char* name : {"two\nlines", "\xff", "tab\there"}) {
    config.name = name;
    EXPECT_EQ(CodeOf(Node::Start(config)), ErrorCode::kInvalidArgument);
    config.name.clear();
    config.cluster = name;
    EXPECT_EQ(CodeOf(Node::Start(config)), ErrorCode::kInvalidArgument);
    EXPECT_EQ(CodeOf(Directory::Start({.cluster = name})), ErrorCode::kInvalidArgument);
    config.cluster.clear();
  }
  config.advertise = "host:7000";
  EXPECT_EQ(CodeOf(Node::Start(config)), ErrorCode::kInvalidArgument);
  config.advertise.clear();
  config.memory_bytes = (1 << 20) - 1;
  EXPECT_EQ(CodeOf(Node::Start(config)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Directory::Start({.listen = "nowhere"})), ErrorCode::kInvalidArgument);
  const auto first = Directory::Start({});
  ASSERT_TRUE(first) << first.error().ToString();
  EXPECT_EQ(CodeOf(Directory::Start({.listen = (*first)->address()})), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace hoplite::test

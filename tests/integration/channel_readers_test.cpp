// Readers of channels whose link is slow, or whose node is small.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "testing/bytes.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using test::CodeOf;
using testing::Cluster;
using namespace std::chrono_literals;

class ChannelReaders : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kInTime = 60s;

  void Begin(testing::ClusterOptions options) { cluster_.emplace(std::move(options)); }
  Channel Open(std::size_t node) {
    return *cluster_->client(node).OpenChannel("it", {.timeout = kInTime});
  }

  std::optional<Cluster> cluster_;
};

// Versions come ten times as fast as a reader's link takes them. That takes no more memory.
TEST_F(ChannelReaders, AReaderSlowerThanVersionsComeGetsSomeAllTheSame) {
  for (const std::uint64_t memory : {64_MiB, 15_MiB}) {
    cluster_.emplace(
        testing::ClusterOptions{.nodes = 2,
                                .memory_bytes = memory,
                                .rate_bytes_per_second = 8_MiB,
                                .directory = directory::InProcessDirectory::Patient()});
    Channel trainer = Open(0);
    const Channel worker = Open(1);
    std::atomic<bool> over = false;
    std::thread publishes([&] {
      std::vector<float> weights(1'000'000);
      while (!over) {
        weights.front() += 1;
        const std::vector<Part> parts{{.name = "w", .bytes = std::as_bytes(std::span(weights))}};
        const auto published = trainer.Publish(parts, {.timeout = kInTime});
        ASSERT_TRUE(published) << published.error().message;
        std::this_thread::sleep_for(30ms);
      }
    });
    std::optional<Snapshot> last;
    for (int i = 0; i < 3; ++i) {
      Result<Snapshot> next =
          worker.Get({.after = last ? std::optional(last->id()) : std::nullopt, .timeout = 20s});
      EXPECT_TRUE(next) << next.error().message;
      if (!next) break;
      last = *std::move(next);
    }
    over = true;
    publishes.join();
  }
}

// Through a window, also of objects that an older version put.
TEST_F(ChannelReaders, ANodeSmallerThanAVersionStreamsItsParts) {
  Begin({.nodes = 1});
  const std::size_t small = cluster_->Add({.memory_bytes = 2_MiB});
  Channel trainer = Open(0);
  const Channel worker = Open(small);
  std::vector<std::vector<float>> layers(4, std::vector<float>(1'000'000));
  const auto publish = [&](float value) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i % 2 == 0) std::ranges::fill(layers[i], value + static_cast<float>(i));
      parts.push_back({.name = std::to_string(i), .bytes = std::as_bytes(std::span(layers[i]))});
    }
    return trainer.Publish(parts, {.timeout = kInTime});
  };
  for (const std::uint64_t version : {1U, 2U}) {
    ASSERT_EQ(*publish(static_cast<float>(version)), version);
    const VersionOptions newest{.at_least = version, .timeout = kInTime};
    EXPECT_EQ(CodeOf(worker.Get(newest)), ErrorCode::kResourceExhausted);
    SnapshotStream stream = *worker.Stream(newest);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto part = stream.Next(kInTime);
      ASSERT_TRUE(part) << part.error().message;
      EXPECT_EQ((*part)->name, std::to_string(i));
      EXPECT_TRUE(std::ranges::equal(*(*part)->as<float>(), layers[i]));
    }
    EXPECT_EQ(*stream.Next(kInTime), nullptr);
  }
}

}  // namespace
}  // namespace hoplite

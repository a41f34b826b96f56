// Larger than memory: put objects lie on their nodes' disks, and are had from there.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include <hoplite/local_cluster.h>

#include "base/mutex.h"
#include "testing/bytes.h"
#include "testing/cluster.h"
#include "testing/temporary_folder.h"
#include "testing/tls_folder.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::kSoon;
using testing::Pattern;
using testing::TemporaryFolder;
using testing::Text;
using namespace std::chrono_literals;

double Value(const node::Node& node, const std::string& name) {
  for (const Metric& metric : node.metrics()) {
    if (metric.name == name) return metric.samples.front().value;
  }
  return -1;
}

class SpillTest : public ::testing::Test {
 protected:
  ClusterOptions Options(std::size_t nodes, std::uint64_t memory_bytes,
                         std::uint64_t disk_bytes = 1_GiB) const {
    return {.nodes = nodes,
            .memory_bytes = memory_bytes,
            .spill_folder = folder_.path(),
            .spill_limit_bytes = disk_bytes};
  }
  // Objects of so many bytes, each of its own, put without a deadline.
  std::vector<ObjectId> PutMany(Client client, std::size_t count, std::uint64_t bytes,
                                std::uint64_t seed) {
    std::vector<ObjectId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      const auto put = client.Put(Pattern(bytes, seed + i));
      EXPECT_TRUE(put) << put.error().ToString();
      if (put) ids.push_back(*put);
    }
    return ids;
  }
  void ExpectAll(Client client, const std::vector<ObjectId>& ids, std::uint64_t bytes,
                 std::uint64_t seed, const CallOptions& options = {}) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto got = client.Get(ids[i], options);
      ASSERT_TRUE(got) << i << ": " << got.error().ToString();
      EXPECT_TRUE(Text(*got) == Pattern(bytes, seed + i)) << i;
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(SpillTest, AStoreTakesThreeTimesItsMemoryAndGivesItBack) {
  Cluster cluster(Options(1, 32_MiB));
  const auto ids = PutMany(cluster.client(0), 12, 8_MiB, 1);
  ASSERT_EQ(ids.size(), 12u);
  ExpectAll(cluster.client(0), ids, 8_MiB, 1);
  EXPECT_GT(Value(cluster.node(0), "hoplite_spilled_bytes_total"), 60e6);
  EXPECT_TRUE(folder_.empty());
}

TEST_F(SpillTest, OthersAreServedFromTheDisk) {
  Cluster cluster(Options(1, 32_MiB));
  const std::size_t reader = cluster.Add({.memory_bytes = 256_MiB});
  const auto ids = PutMany(cluster.client(0), 12, 8_MiB, 1);
  ASSERT_EQ(ids.size(), 12u);
  // All memory of the store is pinned: others need none of it.
  std::vector<Buffer> held;
  for (std::size_t i = 0; i < 4; ++i) held.push_back(cluster.client(0).Get(ids[i], kSoon).value());
  ExpectAll(cluster.client(reader), ids, 8_MiB, 1, kSoon);
}

TEST_F(SpillTest, ReadersFollowWhatComesFromTheDisk) {
  Cluster cluster(Options(1, 16_MiB));
  const auto ids = PutMany(cluster.client(0), 8, 4_MiB, 1);
  ASSERT_EQ(ids.size(), 8u);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string into(4_MiB, ' ');
    const auto got =
        cluster.client(0).GetInto(ids[i], std::as_writable_bytes(std::span(into)), kSoon);
    ASSERT_TRUE(got) << got.error().ToString();
    EXPECT_TRUE(into == Pattern(4_MiB, 1 + i)) << i;
  }
}

TEST_F(SpillTest, OthersAreServedFromTheDiskUnderTls) {
  const test::TlsFolder tls;
  ClusterOptions options = Options(1, 16_MiB);
  options.security = tls.Secret("secret", "a secret of sixteen bytes or more");
  Cluster cluster(options);
  const std::size_t reader = cluster.Add({.memory_bytes = 64_MiB, .security = options.security});
  const auto ids = PutMany(cluster.client(0), 6, 4_MiB, 1);
  ASSERT_EQ(ids.size(), 6u);
  ExpectAll(cluster.client(reader), ids, 4_MiB, 1, kSoon);
}

// Without a disk both wait for ever: each for room that only the other's read could make.
TEST_F(SpillTest, TwoFullStoresThatGetEachOthersEnd) {
  constexpr std::size_t kObjects = 8;
  Cluster cluster(Options(2, 64_MiB));
  const auto mine = PutMany(cluster.client(0), kObjects, 8_MiB, 1);
  const auto yours = PutMany(cluster.client(1), kObjects, 8_MiB, 100);
  ASSERT_EQ(mine.size() + yours.size(), 2 * kObjects);
  std::jthread one([&] { ExpectAll(cluster.client(1), mine, 8_MiB, 1); });
  std::jthread other([&] { ExpectAll(cluster.client(0), yours, 8_MiB, 100); });
}

// The same, if each holds all that it gets at once.
TEST_F(SpillTest, ThreeFullStoresInACircleEnd) {
  constexpr std::size_t kObjects = 8;
  Cluster cluster(Options(3, 36_MiB));
  std::vector<std::vector<ObjectId>> put;
  for (std::size_t node = 0; node < 3; ++node) {
    put.push_back(PutMany(cluster.client(node), kObjects, 4_MiB, 100 * node));
    ASSERT_EQ(put.back().size(), kObjects);
  }
  std::vector<std::jthread> readers;
  for (std::size_t node = 0; node < 3; ++node) {
    readers.emplace_back([&, node] {
      const std::size_t next = (node + 1) % 3;
      const auto all = cluster.client(node).GetMany(put[next]);
      for (std::size_t i = 0; i < kObjects; ++i) {
        ASSERT_TRUE(all[i]) << all[i].error().ToString();
        EXPECT_TRUE(Text(*all[i]) == Pattern(4_MiB, 100 * next + i));
      }
    });
  }
}

TEST_F(SpillTest, ALocalClusterHasADiskForAllOfItsNodesTogether) {
  LocalClusterOptions options{.nodes = 1,
                              .memory_bytes = 16_MiB,
                              .spill_folder = folder_.path(),
                              .spill_limit_bytes = 256_MiB};
  {
    const auto cluster = LocalCluster::Start(options).value();
    const auto ids = PutMany(cluster->client(0), 6, 4_MiB, 1);
    ExpectAll(cluster->client(0), ids, 4_MiB, 1);
  }
  options.spill_limit_bytes = std::filesystem::space(folder_.path()).capacity / 3 * 2;
  EXPECT_TRUE(LocalCluster::Start(options));
  options.nodes = 2;
  const auto beyond = LocalCluster::Start(options);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(beyond.error().message, HasSubstr("the limit of its nodes, "));
}

TEST_F(SpillTest, AFullDiskIsSaidWithBothRooms) {
  Cluster cluster(Options(1, 16_MiB, 8_MiB));
  const auto ids = PutMany(cluster.client(0), 5, 4_MiB, 1);
  ASSERT_EQ(ids.size(), 5u);
  const auto more = PutMany(cluster.client(0), 1, 4_MiB, 9);
  ASSERT_EQ(more.size(), 1u);
  const auto refused = cluster.client(0).Put(Pattern(4_MiB, 10), {.timeout = 1s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("of 16777216 bytes are in use"));
  EXPECT_THAT(refused.error().message, HasSubstr("of 8388608 bytes of " + folder_.path()));
  EXPECT_THAT(refused.error().message, HasSubstr("it is full"));
  ASSERT_TRUE(cluster.client(0).Delete(ids[0], kSoon));
  const auto goes_on = cluster.client(0).Put(Pattern(4_MiB, 11), {.timeout = 60s});
  EXPECT_TRUE(goes_on) << goes_on.error().ToString();
}

TEST_F(SpillTest, WhatIsDeletedGivesItsRoomOnTheDiskBack) {
  Cluster cluster(Options(1, 16_MiB));
  const auto ids = PutMany(cluster.client(0), 12, 4_MiB, 1);
  EXPECT_GT(Value(cluster.node(0), "hoplite_disk_used_bytes"), 30e6);
  for (const ObjectId& id : ids) ASSERT_TRUE(cluster.client(0).Delete(id, kSoon));
  EXPECT_TRUE(Eventually([&] { return Value(cluster.node(0), "hoplite_disk_used_bytes") == 0; }));
}

TEST_F(SpillTest, ASumOfWhatLiesOnDisksIsRight) {
  constexpr std::size_t kSources = 6;
  constexpr std::size_t kElements = 1_MiB;
  Cluster cluster(Options(2, 12_MiB));
  ReduceOptions sum;
  sum.target = ObjectId::FromName("sum");
  sum.dtype = DType::kUint64;
  for (std::size_t i = 0; i < 2 * kSources; ++i) {
    std::vector<std::uint64_t> values(kElements / 2, i + 1);
    const auto bytes = std::as_bytes(std::span(values));
    const auto put =
        cluster.client(i % 2).Put({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ASSERT_TRUE(put) << put.error().ToString();
    sum.sources.push_back(*put);
  }
  EXPECT_GT(Value(cluster.node(0), "hoplite_spilled_objects_total"), 0);
  const auto done = cluster.client(0).Reduce(sum);
  ASSERT_TRUE(done) << done.error().ToString();
  const auto got = cluster.client(1).Get(sum.target);
  ASSERT_TRUE(got) << got.error().ToString();
  const std::string text = Text(*got);
  ASSERT_EQ(text.size(), kElements / 2 * 8);
  std::vector<std::uint64_t> values(kElements / 2);
  std::memcpy(values.data(), text.data(), text.size());
  EXPECT_TRUE(std::ranges::all_of(values, [](std::uint64_t value) { return value == 78; }));
}

// A disk whose requests wait, or fail, when the test says so.
class FaultyDisk final : public store::Disk {
 public:
  explicit FaultyDisk(std::shared_ptr<store::Disk> real) : real_(std::move(real)) {}
  ~FaultyDisk() override { Release(); }
  const std::string& folder() const override { return real_->folder(); }
  void Write(std::uint64_t at, Pieces pieces, Done done) override {
    ++writes;
    const auto failed = [done] {
      done(std::unexpected(Error(ErrorCode::kUnavailable, "write: Input/output error")));
    };
    if (writes_fail) return real_->Discard({0, 4096}, [failed](const Result<void>&) { failed(); });
    real_->Write(at, std::move(pieces), std::move(done));
  }
  void Read(std::uint64_t at, std::span<std::byte> into, Done done) override {
    if (reads_hang) {
      const MutexLock lock(mutex_);
      held_.push_back(std::move(done));
      return;
    }
    if (read_takes.load() > 0ms) {
      return real_->Read(at, into, [this, done](const Result<void>& read) {
        std::this_thread::sleep_for(read_takes.load());
        done(read);
      });
    }
    if (!reads_fail) return real_->Read(at, into, std::move(done));
    real_->Read(at, into, [done](const Result<void>&) {
      done(std::unexpected(Error(ErrorCode::kUnavailable, "read: Input/output error")));
    });
  }
  void Discard(store::Extent range, Done done) override { real_->Discard(range, std::move(done)); }
  Time moved_at() const override { return real_->moved_at(); }

  void Release() {
    const MutexLock lock(mutex_);
    held_.clear();
  }

  std::atomic<std::size_t> writes{0};
  std::atomic<bool> writes_fail{false};
  std::atomic<bool> reads_fail{false};
  std::atomic<bool> reads_hang{false};
  std::atomic<std::chrono::milliseconds> read_takes{0ms};

 private:
  const std::shared_ptr<store::Disk> real_;
  Mutex mutex_;
  std::vector<Done> held_ HOPLITE_GUARDED_BY(mutex_);
};

class FaultyDiskTest : public SpillTest {
 protected:
  ClusterOptions Faulty(std::size_t nodes, std::uint64_t memory_bytes) {
    ClusterOptions options = Options(nodes, memory_bytes);
    options.disk = [this](const std::string& folder,
                          std::uint64_t limit) -> Result<std::shared_ptr<store::Disk>> {
      auto real = store::OpenDisk(folder, limit);
      if (!real) return std::unexpected(real.error());
      disk_ = std::make_shared<FaultyDisk>(*real);
      return disk_;
    };
    return options;
  }
  std::shared_ptr<FaultyDisk> disk_;
};

// Below the limit of what a shard keeps, and above.
TEST_F(FaultyDiskTest, SmallObjectsGoTogether) {
  for (const std::uint64_t size : {4_KiB, 20_KiB}) {
    Cluster cluster(Faulty(1, 4_MiB));
    const std::size_t reader = cluster.Add({.memory_bytes = 64_MiB});
    const std::size_t count = 10_MiB / size;
    const auto ids = PutMany(cluster.client(0), count, size, 1);
    ASSERT_EQ(ids.size(), count);
    const double spilled = Value(cluster.node(0), "hoplite_spilled_objects_total");
    EXPECT_GT(spilled, static_cast<double>(count) / 2);
    EXPECT_LT(static_cast<double>(disk_->writes), spilled / 10);
    ExpectAll(cluster.client(0), ids, size, 1, kSoon);
    ExpectAll(cluster.client(reader), ids, size, 1, kSoon);
    for (const ObjectId& id : ids) ASSERT_TRUE(cluster.client(0).Delete(id, kSoon));
    EXPECT_TRUE(Eventually([&] { return Value(cluster.node(0), "hoplite_disk_used_bytes") == 0; }));
  }
}

TEST_F(FaultyDiskTest, SmallObjectsMakeRoomForALargeOne) {
  Cluster cluster(Faulty(1, 16_MiB));
  const auto small = PutMany(cluster.client(0), 3000, 5_KiB, 1);
  const auto large = PutMany(cluster.client(0), 1, 12_MiB, 9000);
  ASSERT_EQ(small.size() + large.size(), 3001u);
  EXPECT_LT(disk_->writes, 100u);
  ExpectAll(cluster.client(0), small, 5_KiB, 1, kSoon);
  ExpectAll(cluster.client(0), large, 12_MiB, 9000, kSoon);
}

TEST_F(FaultyDiskTest, AWriteOfSmallObjectsThatFailsLosesNone) {
  Cluster cluster(Faulty(1, 4_MiB));
  disk_->writes_fail = true;
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto put = cluster.client(0).Put(Pattern(4_KiB, i), {.timeout = 500ms});
    if (!put) {
      EXPECT_THAT(put.error().message, HasSubstr("the last write failed: write: Input/output"));
      break;
    }
    ids.push_back(*put);
  }
  EXPECT_LT(ids.size(), 1100u);
  EXPECT_LE(Value(cluster.node(0), "hoplite_failed_spills_total"), 2);  // writes, not objects
  ExpectAll(cluster.client(0), ids, 4_KiB, 0, kSoon);
}

TEST_F(FaultyDiskTest, AWriteThatFailsLosesNothingAndIsSaid) {
  Cluster cluster(Faulty(1, 16_MiB));
  const auto ids = PutMany(cluster.client(0), 4, 4_MiB - 4096, 1);
  disk_->writes_fail = true;
  const auto refused = cluster.client(0).Put(Pattern(4_MiB, 10), {.timeout = 2s});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the last write failed: write: Input/output"));
  ExpectAll(cluster.client(0), ids, 4_MiB - 4096, 1, kSoon);
}

TEST_F(FaultyDiskTest, WhatCannotBeReadIsLostAndItsReaderIsToldWhy) {
  Cluster cluster(Faulty(1, 16_MiB));
  const auto ids = PutMany(cluster.client(0), 8, 4_MiB, 1);
  disk_->reads_fail = true;
  const auto lost = cluster.client(0).Get(ids[0], kSoon);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(lost.error().message, HasSubstr("read: Input/output error"));
  disk_->reads_fail = false;
  ExpectAll(cluster.client(0), {ids[7]}, 4_MiB, 8, kSoon);
}

// R124: the link carries ten times what comes from this disk.
TEST_F(FaultyDiskTest, ASlowDiskIsNotTakenForASlowLink) {
  constexpr std::uint64_t kLink = 200'000'000;
  constexpr std::uint64_t kBytes = 16_MiB;
  ClusterOptions options = Faulty(1, 72_MiB);
  options.rate_bytes_per_second = kLink;
  Cluster cluster(options);
  const std::size_t reader = cluster.Add({.memory_bytes = 256_MiB, .rate_bytes_per_second = kLink});
  const auto measured = [&]() -> std::uint64_t {
    const auto status = cluster.client(0).Status();
    for (const NodeStatus& node : status ? status->nodes : std::vector<NodeStatus>()) {
      if (node.name == "n1") return node.bytes_per_second;
    }
    return 0;
  };
  const auto first = PutMany(cluster.client(0), 3, kBytes, 1);
  ExpectAll(cluster.client(reader), first, kBytes, 1, kSoon);
  ASSERT_TRUE(Eventually([&] { return measured() > kLink / 2; })) << measured();
  const auto slow = PutMany(cluster.client(0), 3, kBytes, 200);
  PutMany(cluster.client(0), 4, kBytes, 300);  // now these three lie on the disk
  disk_->read_takes = 200ms;                   // of 2 MiB, two at a time
  const std::uint64_t before = measured();
  ExpectAll(cluster.client(reader), slow, kBytes, 200, kSoon);
  EXPECT_GT(measured(), before / 2);
}

TEST_F(FaultyDiskTest, ADiskThatIsSilentHoldsNothingElse) {
  Cluster cluster(Faulty(1, 16_MiB));
  const auto ids = PutMany(cluster.client(0), 8, 4_MiB, 1);
  disk_->reads_hang = true;
  const auto late = cluster.client(0).Get(ids[0], {.timeout = 2s});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("read from this node's disk"));
  ExpectAll(cluster.client(0), {ids[7]}, 4_MiB, 8, kSoon);
  EXPECT_TRUE(cluster.client(0).Put(Pattern(64_KiB, 3), {.timeout = 60s}));
  // And the node stops, though the disk has not answered.
}

}  // namespace
}  // namespace hoplite

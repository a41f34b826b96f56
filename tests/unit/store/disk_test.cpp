// The file on a disk, its room, and what is read back.
#include "store/disk.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/units.h"
#include "store/disk_space.h"
#include "store/object_store.h"
#include "store/spilled_read.h"
#include "testing/temporary_folder.h"

namespace hoplite::store {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

// Waits for what a disk calls back.
template <typename Ask>
Result<void> Await(Ask ask) {
  std::promise<Result<void>> done;
  ask([&done](const Result<void>& result) { done.set_value(result); });
  return done.get_future().get();
}

std::vector<std::byte> Bytes(std::size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + seed) % 251);
  return bytes;
}

class DiskTest : public ::testing::Test {
 protected:
  Result<void> Write(std::uint64_t at, const std::vector<std::byte>& bytes) {
    return Await([&](Disk::Done done) { disk_->Write(at, bytes, std::move(done)); });
  }
  std::vector<std::byte> Read(std::uint64_t at, std::size_t size) {
    std::vector<std::byte> bytes(size);
    EXPECT_TRUE(Await([&](Disk::Done done) { disk_->Read(at, bytes, std::move(done)); }));
    return bytes;
  }

  const TemporaryFolder folder_;
  const std::shared_ptr<Disk> disk_ = OpenDisk(folder_.path(), 64_MiB).value();
};

TEST_F(DiskTest, ReadsWhatWasWrittenWhateverItsSize) {
  std::uint64_t at = 0;
  for (const std::size_t size : {1UL, 4095UL, 4096UL, 4097UL, 65536UL, 2097152UL, 5000001UL}) {
    const auto bytes = Bytes(size, static_cast<int>(size % 97));
    ASSERT_TRUE(Write(at, bytes)) << size;
    EXPECT_EQ(Read(at, size), bytes) << size;
    at += (size + 4095) / 4096 * 4096;
  }
}

TEST_F(DiskTest, HasNoNameInItsFolder) {
  ASSERT_TRUE(Write(0, Bytes(1_MiB, 1)));
  EXPECT_TRUE(folder_.empty());
}

TEST_F(DiskTest, WhatIsDiscardedGoesBackToTheFileSystem) {
  ASSERT_TRUE(Write(0, Bytes(1_MiB, 1)));
  ASSERT_TRUE(Write(1_MiB, Bytes(1_MiB, 2)));
  ASSERT_TRUE(Await([&](Disk::Done done) { disk_->Discard({0, 1_MiB}, std::move(done)); }));
  EXPECT_EQ(Read(0, 4096), std::vector<std::byte>(4096));
  EXPECT_EQ(Read(1_MiB, 1_MiB), Bytes(1_MiB, 2));
}

TEST_F(DiskTest, KnowsWhenItMoved) {
  const Time before = disk_->moved_at();
  ASSERT_TRUE(Write(0, Bytes(1, 1)));
  EXPECT_GT(disk_->moved_at(), before);
}

TEST(OpenDiskTest, SaysWhyAFolderWillNotDo) {
  const auto missing = OpenDisk("/no/such/folder", 1_MiB);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/folder: No such file"));
  const TemporaryFolder folder;
  const auto beyond = OpenDisk(folder.path(), std::uint64_t{1} << 60);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("is above its disk of"));
}

TEST(OpenDiskTest, MemoryWillDoAsADisk) {
  const TemporaryFolder folder("/dev/shm");
  const auto disk = OpenDisk(folder.path(), 4_MiB);
  ASSERT_TRUE(disk) << disk.error().message;
  const auto bytes = Bytes(100001, 7);
  std::vector<std::byte> back(bytes.size());
  ASSERT_TRUE(Await([&](Disk::Done done) { (*disk)->Write(0, bytes, std::move(done)); }));
  ASSERT_TRUE(Await([&](Disk::Done done) { (*disk)->Read(0, back, std::move(done)); }));
  EXPECT_EQ(back, bytes);
}

// Does what it is told to when the test says so.
class HeldDisk final : public Disk {
 public:
  const std::string& folder() const override { return folder_; }
  void Write(std::uint64_t, std::span<const std::byte>, Done done) override { Hold(done); }
  void Read(std::uint64_t, std::span<std::byte> into, Done done) override {
    ++reads;
    Hold([this, into, done](const Result<void>& result) {
      if (result) std::ranges::copy(contents, into.begin());
      done(result);
    });
  }
  void Discard(Extent, Done done) override { Hold(done); }
  Time moved_at() const override { return Time::min(); }

  void Hold(Done done) { held.push_back(std::move(done)); }
  void Answer(const Result<void>& result = {}) {
    const Done done = held.front();
    held.erase(held.begin());
    done(result);
  }

  std::vector<Done> held;
  std::vector<std::byte> contents;
  int reads = 0;

 private:
  const std::string folder_ = "held";
};

class DiskSpaceTest : public ::testing::Test {
 protected:
  // What it never answers holds the space, which holds the disk.
  ~DiskSpaceTest() override { std::exchange(disk_->held, {}).clear(); }

  const std::shared_ptr<HeldDisk> disk_ = std::make_shared<HeldDisk>();
  int rooms_ = 0;
  const std::shared_ptr<DiskSpace> space_ =
      std::make_shared<DiskSpace>(disk_, 16384, [this] { ++rooms_; });
};

TEST_F(DiskSpaceTest, RangesAreWholePagesWithinTheLimit) {
  const auto one = space_->Reserve(1);
  const auto two = space_->Reserve(4097);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(two->offset() % Disk::kGranule, 0u);
  EXPECT_EQ(space_->used_bytes(), 3 * Disk::kGranule);
  EXPECT_EQ(space_->Reserve(4097), nullptr);
}

TEST_F(DiskSpaceTest, ARangeIsGivenOutAgainWhenItIsDiscarded) {
  auto all = space_->Reserve(16384);
  all.reset();
  EXPECT_EQ(space_->Reserve(1), nullptr);  // its hole is yet to be punched
  EXPECT_EQ(rooms_, 0);
  disk_->Answer();
  EXPECT_EQ(rooms_, 1);
  EXPECT_NE(space_->Reserve(1), nullptr);
}

// A final copy of some blocks, and the same on a disk.
class SpilledReadTest : public DiskSpaceTest {
 protected:
  void SetUp() override {
    const Layout layout = Layout::For(10000);
    in_memory_ = store_.Create(ObjectId::FromName("x"), layout, "m", CopyKind::kPrimary).value();
    const auto bytes = Bytes(10000, 3);
    std::ranges::copy(bytes, in_memory_->bytes().begin());
    for (std::uint64_t block = 0; block < layout.block_count(); ++block) {
      const ByteRange range = layout.block_range(block);
      in_memory_->SetChecksum(
          block, BlockChecksum(in_memory_->bytes().subspan(range.begin, range.size())));
    }
    for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
      in_memory_->Advance(s, layout.stripe_block_count(s));
    }
    in_memory_->Seal();
    spilled_ = std::make_shared<Copy>(*in_memory_, space_->Reserve(10000));
    disk_->contents = bytes;
  }

  ObjectStore store_{CreateHeapSegment(1_MiB), nullptr};
  CopyPtr in_memory_;
  CopyPtr spilled_;
};

TEST_F(SpilledReadTest, IsAWholeCopyWithoutMemory) {
  EXPECT_TRUE(spilled_->on_disk());
  EXPECT_EQ(spilled_->state(), CopyState::kFinal);
  EXPECT_TRUE(spilled_->whole());
  EXPECT_FALSE(spilled_->windowed());
  EXPECT_EQ(spilled_->number(), in_memory_->number());
  EXPECT_EQ(spilled_->marks(), in_memory_->marks());
}

TEST_F(SpilledReadTest, WhatIsReadIsCompared) {
  std::vector<std::byte> into(10000);
  std::optional<Result<void>> read;
  ReadSpilled(spilled_, 0, into, [&](const Result<void>& result) { read = result; });
  disk_->Answer();
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->has_value());
  EXPECT_EQ(into, Bytes(10000, 3));
}

TEST_F(SpilledReadTest, WhatIsWrongOrFailsIsReadOnceMore) {
  std::vector<std::byte> into(10000);
  std::optional<Result<void>> read;
  disk_->contents[5000] ^= std::byte{1};
  ReadSpilled(spilled_, 0, into, [&](const Result<void>& result) { read = result; });
  disk_->Answer();
  EXPECT_FALSE(read);
  EXPECT_EQ(disk_->reads, 2);
  disk_->contents[5000] ^= std::byte{1};
  disk_->Answer();
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->has_value());

  read.reset();
  ReadSpilled(spilled_, 0, into, [&](const Result<void>& result) { read = result; });
  const Result<void> failed = std::unexpected(Error(ErrorCode::kUnavailable, "read: broken"));
  disk_->Answer(failed);
  EXPECT_FALSE(read);
  disk_->Answer(failed);
  ASSERT_TRUE(read);
  ASSERT_FALSE(read->has_value());
  EXPECT_EQ(read->error().message, "read: broken");
}

TEST_F(SpilledReadTest, TheStoreListsItInsteadAndItsMemoryIsFree) {
  in_memory_->set_ever_owned(true);
  store_.Replace(spilled_);
  EXPECT_EQ(store_.Find(spilled_->object()), spilled_);
  EXPECT_EQ(store_.KindOf(spilled_->object()), CopyKind::kPrimary);
  EXPECT_TRUE(spilled_->ever_owned());
  in_memory_.reset();
  EXPECT_EQ(store_.usage().used_bytes, 0u);
  EXPECT_EQ(store_.usage().copies, 1u);
  store_.Remove(spilled_->object());
  EXPECT_EQ(store_.usage().copies, 0u);
}

TEST_F(SpilledReadTest, WhatIsVoidInMemoryIsVoidOnTheDisk) {
  in_memory_->set_spilled(spilled_);
  in_memory_->Void(VoidReason::kDeleted);
  EXPECT_EQ(spilled_->void_reason(), VoidReason::kDeleted);
}

TEST_F(SpilledReadTest, WhatLiesOnTheDiskGoesBeforeWhatIsToBeWritten) {
  const auto all = [](const Copy&) { return true; };
  const auto may = [](const Copy&) { return ObjectStore::Spill::kMay; };
  const ObjectId x = in_memory_->object();
  EXPECT_TRUE(store_.VictimsWithDisk(1_MiB, all, may).to_spill.empty());  // it is pinned
  Copy* const copy = in_memory_.get();
  in_memory_.reset();
  EXPECT_EQ(store_.VictimsWithDisk(1_MiB, all, may).to_spill, std::vector{x});
  copy->set_spilled(spilled_);
  const auto outflow = store_.VictimsWithDisk(1_MiB, all, may);
  EXPECT_EQ(outflow.spilled, std::vector{x});
  EXPECT_TRUE(outflow.to_spill.empty());
  EXPECT_EQ(store_.InBoth(), std::vector{x});
  EXPECT_TRUE(store_.VictimsWithDisk(2_MiB, all, may).spilled.empty());  // larger than the store
}

}  // namespace
}  // namespace hoplite::store

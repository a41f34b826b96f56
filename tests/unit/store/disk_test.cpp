// The file on a disk, its room, and what is read back.
#include "store/disk.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
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
    return Await([&](Disk::Done done) { disk_->Write(at, {bytes}, std::move(done)); });
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

TEST_F(DiskTest, SeveralObjectsShareAWriteEachFromAPageOn) {
  std::vector<std::vector<std::byte>> all;
  Disk::Pieces pieces;
  for (const std::size_t size : {1UL, 4096UL, 5000UL, 100UL}) {
    all.push_back(Bytes(size, static_cast<int>(size)));
    pieces.emplace_back(all.back());
  }
  std::uint64_t at = 8192;
  ASSERT_TRUE(Write(at, Bytes(40960, 9)));
  ASSERT_TRUE(Await([&](Disk::Done done) { disk_->Write(at, pieces, std::move(done)); }));
  for (const auto& bytes : all) {
    EXPECT_EQ(Read(at, bytes.size()), bytes);
    at += Disk::WholePages(bytes.size());
  }
  const auto last = Read(at - 4096, 4096);
  EXPECT_TRUE(std::ranges::all_of(last | std::views::drop(100),
                                  [](std::byte byte) { return byte == std::byte{0}; }));
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
  ASSERT_TRUE(Await([&](Disk::Done done) { (*disk)->Write(0, {bytes}, std::move(done)); }));
  ASSERT_TRUE(Await([&](Disk::Done done) { (*disk)->Read(0, back, std::move(done)); }));
  EXPECT_EQ(back, bytes);
}

// Does what it is told to when the test says so.
class HeldDisk final : public Disk {
 public:
  const std::string& folder() const override { return folder_; }
  void Write(std::uint64_t, Pieces, Done done) override { Hold(done); }
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

TEST_F(DiskSpaceTest, WhatIsReservedTogetherComesBackAlone) {
  const std::vector<std::uint64_t> sizes{1, 4097, 4096};
  auto places = space_->Reserve(sizes);
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[1]->offset(), places[0]->offset() + 4096);
  EXPECT_EQ(places[2]->offset(), places[0]->offset() + 3 * 4096);
  EXPECT_TRUE(space_->Reserve(sizes).empty());
  places[1].reset();
  disk_->Answer();
  EXPECT_EQ(space_->used_bytes(), 2 * Disk::kGranule);
  EXPECT_EQ(space_->Reserve(8192)->offset(), places[0]->offset() + 4096);
  places.clear();
  while (!disk_->held.empty()) disk_->Answer();
  EXPECT_EQ(space_->used_bytes(), 0u);
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
  const ObjectId x = in_memory_->object();
  EXPECT_TRUE(store_.VictimsWithDisk(1_MiB, all, true).to_spill.empty());  // it is pinned
  const std::weak_ptr<Copy> weak = in_memory_;
  in_memory_.reset();
  EXPECT_EQ(store_.VictimsWithDisk(1_MiB, all, true).to_spill, std::vector{x});
  EXPECT_TRUE(store_.VictimsWithDisk(1_MiB, all, false).to_spill.empty());
  store_.SetSpilled(weak.lock(), std::exchange(spilled_, nullptr));
  const auto outflow = store_.VictimsWithDisk(1_MiB, all, true);
  EXPECT_EQ(outflow.spilled, std::vector{x});
  EXPECT_TRUE(outflow.to_spill.empty());
  EXPECT_EQ(store_.leaving_bytes(), ExtentAllocator::Taken(0, 10000).size);
  std::vector<ObjectId> both;
  const auto note = [&](const CopyPtr& copy) {
    both.push_back(copy->object());
    return true;
  };
  store_.VisitInBoth(note);
  EXPECT_EQ(both, std::vector{x});
  store_.VisitToSpill(note);
  EXPECT_EQ(both.size(), 1u);
  EXPECT_TRUE(store_.VictimsWithDisk(2_MiB, all, true).spilled.empty());  // larger than the store
}

TEST_F(SpilledReadTest, WhatIsBeingWrittenIsOnItsWay) {
  const auto all = [](const Copy&) { return true; };
  store_.BeginSpill(in_memory_);  // whose pin is the write's
  const auto outflow = store_.VictimsWithDisk(1_MiB, all, true);
  EXPECT_TRUE(outflow.spilled.empty());
  EXPECT_TRUE(outflow.to_spill.empty());
  EXPECT_EQ(store_.FindToSpill(in_memory_->object()), nullptr);
  EXPECT_GT(store_.leaving_bytes(), 0u);
  store_.SetSpilled(in_memory_, nullptr);  // it failed
  EXPECT_EQ(store_.leaving_bytes(), 0u);
  store_.Touch(in_memory_->object(), Time(std::chrono::seconds(1)));
  const ObjectId x = in_memory_->object();
  in_memory_.reset();
  EXPECT_NE(store_.FindToSpill(x), nullptr);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Of a small object that lies on a disk a node keeps this much, and 0.2 % of its size.
TEST(SpilledCopies, EachTakesLittleMemory) {
  constexpr std::size_t kCopies = 20000;
  for (const std::uint64_t size : {100UL, 4096UL, 65536UL}) {
    const auto disk = std::make_shared<HeldDisk>();
    const auto space = std::make_shared<DiskSpace>(disk, 2_GiB, nullptr);
    ObjectStore store(CreateHeapSegment(1_MiB), nullptr);
    const auto before = ::mallinfo2().uordblks;
    for (std::size_t i = 0; i < kCopies; ++i) {
      const Layout layout = Layout::For(size);
      const ObjectId id = ObjectId::FromName(std::to_string(i));
      const CopyPtr made = store.Create(id, layout, "", CopyKind::kPrimary).value();
      for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
        made->Advance(s, layout.stripe_block_count(s));
      }
      made->Seal();
      store.Replace(std::make_shared<Copy>(*made, space->Reserve(size)));
    }
    const double each = static_cast<double>(::mallinfo2().uordblks - before) / kCopies;
    EXPECT_LE(each, 700 + 0.002 * static_cast<double>(size)) << size;
    for (const CopyPtr& copy : store.List()) store.Remove(copy->object());
    disk->held.clear();
  }
}
#endif

}  // namespace
}  // namespace hoplite::store

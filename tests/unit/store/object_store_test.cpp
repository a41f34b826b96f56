#include "store/object_store.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::store {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ObjectId Id(const std::string& name) { return ObjectId::FromName(name); }
Time At(int seconds) { return Time(std::chrono::seconds(seconds)); }

class ObjectStoreTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCapacity = 1_MiB;

  CopyPtr Create(const std::string& name, std::uint64_t bytes, CopyKind kind = CopyKind::kPrimary) {
    auto copy = store_->Create(Id(name), Layout::For(bytes), "", kind);
    return copy ? *copy : nullptr;
  }
  // Listed, final, unpinned, last used at `seconds`.
  void Relay(const std::string& name, std::uint64_t bytes, int seconds) {
    const CopyPtr copy = Create(name, bytes, CopyKind::kRelayed);
    ASSERT_TRUE(copy);
    for (std::uint32_t stripe = 0; stripe < copy->layout().stripe_count; ++stripe) {
      copy->Advance(stripe, copy->layout().stripe_block_count(stripe));
    }
    ASSERT_TRUE(copy->Seal());
    store_->Touch(Id(name), At(seconds));
  }

  std::atomic<int> space_calls_{0};
  std::unique_ptr<ObjectStore> store_ =
      std::make_unique<ObjectStore>(CreateHeapSegment(kCapacity), [this] { ++space_calls_; });
};

TEST_F(ObjectStoreTest, CreateListsACopyInsideTheSegment) {
  const auto copy = store_->Create(Id("a"), Layout::For(100), "meta", CopyKind::kPrimary);
  ASSERT_TRUE(copy);
  EXPECT_EQ(store_->Find(Id("a")), *copy);
  EXPECT_EQ(store_->Find(Id("b")), nullptr);
  EXPECT_EQ((*copy)->metadata(), "meta");
  EXPECT_EQ((*copy)->bytes().size(), 100u);
  EXPECT_EQ((*copy)->bytes().data(), store_->segment().bytes().data() + (*copy)->segment_offset());
}

// A caller that counted on more would wait for memory that nobody gets.
TEST_F(ObjectStoreTest, TheCapacityIsWhatObjectsCanTake) {
  store_ = std::make_unique<ObjectStore>(CreateHeapSegment(kCapacity + 33), [] {});
  EXPECT_EQ(store_->usage().capacity_bytes, kCapacity);
  EXPECT_TRUE(store_->FitsEver(store_->usage().capacity_bytes));
  EXPECT_FALSE(store_->FitsEver(store_->usage().capacity_bytes + 1));
}

TEST_F(ObjectStoreTest, AnIdIsListedOnce) {
  ASSERT_TRUE(Create("a", 100));
  const auto again = store_->Create(Id("a"), Layout::For(200), "", CopyKind::kRelayed);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(store_->Find(Id("a"))->bytes().size(), 100u);
}

TEST_F(ObjectStoreTest, ALayoutThatCannotBeIsRefused) {
  const auto copy = store_->Create(Id("a"), Layout{}, "", CopyKind::kRelayed);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ObjectStoreTest, LargerThanTheStoreSaysBothSizes) {
  const auto copy = store_->Create(Id("a"), Layout::For(kCapacity + 1), "", CopyKind::kPrimary);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(copy.error().message, AllOf(HasSubstr("1048577 bytes"), HasSubstr("1048576 bytes"),
                                          HasSubstr("larger than the whole store")));
  EXPECT_FALSE(store_->FitsEver(kCapacity + 1));
  EXPECT_TRUE(store_->FitsEver(kCapacity));
}

TEST_F(ObjectStoreTest, NoRoomNowSaysBothSizes) {
  ASSERT_TRUE(Create("a", 768_KiB));
  const auto copy = store_->Create(Id("b"), Layout::For(512_KiB), "", CopyKind::kPrimary);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(copy.error().message, AllOf(HasSubstr("524288 bytes"), HasSubstr("262144 bytes"),
                                          HasSubstr("no room now")));
  EXPECT_EQ(store_->Find(Id("b")), nullptr);
}

TEST_F(ObjectStoreTest, ZeroByteObjectsTakeNoMemory) {
  const CopyPtr copy = Create("empty", 0);
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->bytes().empty());
  EXPECT_TRUE(copy->Seal());
  EXPECT_EQ(store_->usage().used_bytes, 0u);
  EXPECT_EQ(store_->usage().copies, 1u);
}

TEST_F(ObjectStoreTest, MemoryReturnsWhenTheLastPinGoes) {
  CopyPtr pin = Create("a", kCapacity);
  ASSERT_TRUE(pin);
  store_->Remove(Id("a"));
  EXPECT_EQ(store_->Find(Id("a")), nullptr);
  EXPECT_EQ(store_->usage().used_bytes, kCapacity);
  EXPECT_EQ(store_->usage().copies, 0u);
  EXPECT_EQ(space_calls_, 0);
  EXPECT_EQ(Create("b", 1), nullptr);

  pin.reset();
  EXPECT_EQ(store_->usage().used_bytes, 0u);
  EXPECT_EQ(space_calls_, 1);
  EXPECT_TRUE(Create("b", kCapacity));
}

TEST_F(ObjectStoreTest, ARemovedIdCanBeCreatedAgainBesideItsPinnedBytes) {
  const CopyPtr old = Create("a", 100_KiB);
  std::memset(old->bytes().data(), 1, 100_KiB);
  store_->Remove(Id("a"));
  const CopyPtr fresh = Create("a", 100_KiB);
  ASSERT_TRUE(fresh);
  std::memset(fresh->bytes().data(), 2, 100_KiB);
  EXPECT_EQ(old->bytes()[100_KiB - 1], std::byte{1});
}

TEST_F(ObjectStoreTest, PinsOutliveTheStore) {
  CopyPtr pin = Create("a", 100_KiB);
  std::memset(pin->bytes().data(), 7, 100_KiB);
  store_.reset();
  EXPECT_EQ(pin->bytes()[100_KiB - 1], std::byte{7});
  pin.reset();
  EXPECT_EQ(space_calls_, 0);  // nobody is left to tell
}

TEST_F(ObjectStoreTest, TransientCopiesAreNeverListed) {
  CopyPtr copy = Create("a", 100, CopyKind::kTransient);
  ASSERT_TRUE(copy);
  EXPECT_EQ(store_->Find(Id("a")), nullptr);
  EXPECT_THAT(store_->List(), IsEmpty());
  EXPECT_TRUE(Create("a", 100));  // nor in the way of a listed one
  copy.reset();
  EXPECT_EQ(space_calls_, 1);
}

TEST_F(ObjectStoreTest, AWalkByIdSeesEachOnceHoweverManyAtATime) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Create(std::to_string(i), 100));
  for (const std::size_t most : {1U, 3U, 10U, 11U}) {
    std::vector<CopyPtr> walked;
    std::optional<ObjectId> at;
    for (auto next = store_->After(at, most); !next.empty(); next = store_->After(at, most)) {
      EXPECT_LE(next.size(), most);
      walked.insert(walked.end(), next.begin(), next.end());
      at = walked.back()->object();
    }
    EXPECT_EQ(walked, store_->List()) << most;
  }
}

TEST_F(ObjectStoreTest, ListIsOrderedById) {
  for (const char* name : {"c", "a", "b", "d"}) Create(name, 10);
  const std::vector<CopyPtr> copies = store_->List();
  ASSERT_EQ(copies.size(), 4u);
  for (std::size_t i = 1; i < copies.size(); ++i) {
    EXPECT_LT(copies[i - 1]->object(), copies[i]->object());
  }
}

TEST_F(ObjectStoreTest, VictimsAreTheLeastRecentlyUsed) {
  Relay("old", 256_KiB, 1);
  Relay("older", 256_KiB, 0);
  Relay("new", 512_KiB, 5);
  EXPECT_THAT(store_->Victims(256_KiB), ElementsAre(Id("older")));
  EXPECT_THAT(store_->Victims(512_KiB), ElementsAre(Id("older"), Id("old")));
  store_->Touch(Id("older"), At(9));
  EXPECT_THAT(store_->Victims(256_KiB), ElementsAre(Id("old")));
}

TEST_F(ObjectStoreTest, FindDoesNotTouch) {
  Relay("a", 512_KiB, 1);
  Relay("b", 512_KiB, 2);
  store_->Find(Id("a"));
  EXPECT_THAT(store_->Victims(1), ElementsAre(Id("a")));
}

TEST_F(ObjectStoreTest, PinnedPartialAndPrimaryCopiesAreNoVictims) {
  Relay("pinned", 256_KiB, 1);
  Relay("put", 256_KiB, 1);
  Relay("free", 256_KiB, 9);
  Create("partial", 256_KiB, CopyKind::kRelayed);
  store_->MakePrimary(Id("put"));
  EXPECT_EQ(store_->KindOf(Id("put")), CopyKind::kPrimary);
  CopyPtr pin = store_->Find(Id("pinned"));
  EXPECT_THAT(store_->Victims(1), ElementsAre(Id("free")));
  EXPECT_THAT(store_->Victims(512_KiB), IsEmpty());
  pin.reset();
  EXPECT_THAT(store_->Victims(1), ElementsAre(Id("pinned")));
}

TEST_F(ObjectStoreTest, VictimsMakeRoomForTheObject) {
  Relay("a", 300_KiB, 1);
  Relay("b", 300_KiB, 2);
  Relay("c", 300_KiB, 3);
  const auto victims = store_->Victims(500_KiB);
  for (const ObjectId& victim : victims) store_->Remove(victim);
  EXPECT_TRUE(Create("d", 500_KiB));
  EXPECT_THAT(store_->Victims(kCapacity + 1), IsEmpty());
}

TEST_F(ObjectStoreTest, EachByteInUseHasOneUse) {
  EXPECT_EQ(store_->Use().InWords(), "");
  Create("own", 4096);
  Create("coming", 8192, CopyKind::kRelayed);
  Relay("read", 16384, 1);
  Relay("idle", 32768, 2);
  const CopyPtr read = store_->Find(Id("read"));
  const CopyPtr deleted = Create("deleted", 65536);
  store_->Remove(Id("deleted"));
  EXPECT_EQ(
      store_->Use().InWords(),
      "4096 bytes by objects that were put or reduced here, 8192 bytes by objects on their way "
      "here, 16384 bytes by copies that are read or sent, 32768 bytes by copies that may be "
      "evicted, 65536 bytes by partial results, and by what was deleted and is still read");
}

// Pins dropped by other threads while the loop creates and removes.
TEST_F(ObjectStoreTest, MemoryComesBackFromAnyThread) {
  std::mutex mutex;
  std::vector<CopyPtr> handed;
  std::atomic<bool> done{false};
  const auto drop = [&] {
    while (true) {
      const bool last = done;
      std::vector<CopyPtr> mine;
      {
        const std::lock_guard lock(mutex);
        mine.swap(handed);
      }
      if (last && mine.empty()) return;
      mine.clear();
      std::this_thread::yield();
    }
  };
  std::jthread first(drop);
  std::jthread second(drop);
  int created = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = std::to_string(i);
    CopyPtr copy = Create(name, 10_KiB + static_cast<std::uint64_t>(i % 7) * 1000);
    if (!copy) continue;  // all memory is in the others' hands
    ++created;
    copy->bytes()[0] = std::byte{1};
    store_->Remove(Id(name));
    const std::lock_guard lock(mutex);
    handed.push_back(std::move(copy));
  }
  done = true;
  first.join();
  second.join();
  EXPECT_GT(created, 10);
  EXPECT_EQ(space_calls_, created);
  EXPECT_EQ(store_->usage().used_bytes, 0u);
}

}  // namespace
}  // namespace hoplite::store

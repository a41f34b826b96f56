// Which versions of a channel stay, and that readers of any speed get one.
#include "client/channel/kept_versions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const ObjectId kA = ObjectId::FromName("a");
const ObjectId kB = ObjectId::FromName("b");
const ObjectId kC = ObjectId::FromName("c");
const ObjectId kD = ObjectId::FromName("d");

bool Nobody(const ObjectId& /*object*/) { return false; }
auto Fetches(const ObjectId& one) {
  return [one](const ObjectId& object) { return object == one; };
}

TEST(KeptVersions, WhatNoVersionListsAnyMoreGoes) {
  KeptVersions kept(2);
  kept.Add({kA});
  EXPECT_THAT(kept.Leaving(), IsEmpty());
  kept.Add({kB, kA});
  EXPECT_THAT(kept.Leaving(), IsEmpty());
  kept.Add({kC, kB});
  EXPECT_THAT(kept.Shrink(Nobody), IsEmpty());
  EXPECT_THAT(kept.Leaving(), ElementsAre(kA)) << "the other lists b, too";
  kept.Add({kD, kC});
  EXPECT_THAT(kept.Shrink(Nobody), ElementsAre(kA));
  EXPECT_THAT(kept.TakeAll(), UnorderedElementsAre(kB, kC, kC, kD));
}

TEST(KeptVersions, TheOldestStaysWhileSomebodyFetchesItInPlaceOfTheNext) {
  KeptVersions kept(2);
  kept.Add({kA});
  kept.Add({kB});
  kept.Add({kC});
  EXPECT_THAT(kept.Shrink([](const ObjectId& object) { return object != kC; }), ElementsAre(kB));
  kept.Add({kD});
  EXPECT_THAT(kept.Shrink(Fetches(kC)), ElementsAre(kA));
}

TEST(KeptVersions, OfOneVersionTheNewestIsKept) {
  KeptVersions kept(1);
  kept.Add({kA});
  EXPECT_THAT(kept.Leaving(), IsEmpty());
  kept.Add({kB});
  EXPECT_THAT(kept.Shrink(Fetches(kA)), ElementsAre(kA));
}

// Readers that each take so many periods for a version, begin with the newest one, and again when theirs
// is gone.
class Channel {
 public:
  Channel(std::uint32_t keep, const std::vector<int>& periods) : kept_(keep) {
    for (const int period : periods) readers_.push_back({.takes = period});
  }

  void Publish() {
    ++now_;
    const ObjectId id = ObjectId::FromName("version " + std::to_string(now_));
    kept_.Add({id});
    there_.insert(id);
    const auto fetched = [&](const ObjectId& object) { return fetched_.contains(object); };
    for (const ObjectId& gone : kept_.Shrink(fetched)) there_.erase(gone);
    most_ = std::max(most_, there_.size());
    for (Reader& reader : readers_) {
      const bool lost = !reader.fetches || !there_.contains(*reader.fetches);
      if (!lost && now_ - reader.since < reader.takes) continue;
      if (!lost) ++reader.got;
      reader.fetches = id;
      reader.since = now_;
    }
    // So much the publisher of the next version knows.
    fetched_.clear();
    for (const Reader& reader : readers_) fetched_.insert(*reader.fetches);
  }
  int LeastGot() const { return std::ranges::min(readers_, {}, &Reader::got).got; }
  std::size_t most() const { return most_; }

 private:
  struct Reader {
    int takes = 0;
    std::optional<ObjectId> fetches = {};
    int since = 0;
    int got = 0;
  };
  KeptVersions kept_;
  std::set<ObjectId> there_;
  std::set<ObjectId> fetched_;
  std::vector<Reader> readers_;
  int now_ = 0;
  std::size_t most_ = 0;
};

// Also many of different speeds, none of which waits for the others for ever.
TEST(KeptVersions, EachReaderGetsVersionsHoweverSlowItIs) {
  for (const std::uint32_t keep : {2U, 4U}) {
    for (const auto& periods : std::vector<std::vector<int>>{
             {7}, {1, 3, 7}, {7, 7, 7}, {5, 6, 7, 8, 9, 11, 13}, {2, 50}, {9, 30, 31, 32, 33}}) {
      Channel channel(keep, periods);
      for (int i = 0; i < 2000; ++i) channel.Publish();
      EXPECT_GE(channel.LeastGot(), 5) << keep << " of " << ::testing::PrintToString(periods);
      EXPECT_LE(channel.most(), keep);
    }
  }
}

}  // namespace
}  // namespace hoplite::client

// Copy: what a shard knows of one node's copy of one version, and what flows to it and from it.
// Plain values: CopyTable keeps them in agreement with each other, its grants and indexes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/layout.h"
#include "base/small_set.h"
#include "base/time.h"
#include "planner/copies/per_group.h"

namespace hoplite::planner {

constexpr StripeMask BitOf(std::size_t stripe) { return StripeMask{1} << stripe; }

// What feeds some stripes of a copy through one grant; or fed them, until its source failed or left
// the books: then it is *lost*, and kept until nothing of its group waits for another source.
struct Feed {
  GrantId grant;  // none: it is lost
  NodeId source = kNoNode;
  StripeMask stripes = 0;
  // Of a lost one: its stream may still run although its source left the books. Until the receiver
  // says that it ended, or is granted another, the receiver may depend on that source. Of one that
  // moved its receiver, lost or not: so may the stream from the source before. None: it ended.
  GrantId superseded;
  NodeId lost_source = kNoNode;
  NodeId fallback = kNoNode;  // the source of the lost source
  bool moved = false;         // it moved its receiver, away from `lost_source`

  bool lost() const { return !grant; }
  bool moving() const { return moved && superseded; }
};

// Where a copy stands in the line or tree of one group.
struct Place {
  std::uint32_t used = 0;    // units: stripes served through open grants, those to leaves excepted
  std::uint32_t leaves = 0;  // stripes served to leaves
  std::uint32_t absent = 0;  // of the used ones: those of receivers without a session
  std::uint32_t limit = 0;   // the most units that a pass since it was idle gave it
  bool orphan = false;  // lost a source: served before others, may exceed units by one receiver
  Time lag{};         // when the first byte could arrive; kept after its feeds ended, for a resume
  Time granted{};     // when it was granted first, by this shard
  Time waits_from{};  // from then on it may be sent where it waits for a source to be ahead
};

// What flows to a copy, and from it to others.
struct Flow {
  StripeMask fed = 0;       // stripes with an open grant
  std::vector<Feed> feeds;  // in the order of their first stripes; open ones have none in common
  SmallSet<GrantId> serving;
  PerGroup<Place> places;

  // In use in all groups, but for those of receivers without a session.
  std::uint32_t units() const;
  // `stripes` are not fed as before any more: `how` says what is known of that. Of two lost feeds
  // of a stripe the later one counts.
  void Lose(const Feed& how);
  // What fed these stripes before does not matter any more.
  void ForgetLost(StripeMask stripes);
  void Insert(const Feed& feed);
};

// Of a copy that serves others in every group.
inline constexpr std::uint8_t kNoHome = 255;
// Of one that proved slow: it serves nobody until it is complete.
inline constexpr std::uint8_t kServesNobody = 254;

struct Copy {
  bool live : 1 = true;     // its node has a session and vouched for this copy in it
  bool listed : 1 = false;  // a holder: others may be sent here, from its first grant on (R9)
  bool complete : 1 = false;
  bool primary : 1 = false;   // made by a Put, or the last complete copy: not to be evicted
  bool evicting : 1 = false;  // asked to be dropped: gets no new receivers
  bool leaf : 1 = false;      // keeps nothing: never listed (R38)
  bool starved : 1 = false;   // its source proves life but makes no progress
  bool given : 1 = false;     // was sent the bytes that the directory has (R15)
  bool helped : 1 = false;    // another was told to get a copy, for this one's sake (R68)
  bool on_disk : 1 = false;   // it is served from a disk (R124)
  bool has_all : 1 = false;   // its node said that it has every byte; of marks others may have told
  // In a forest: the group in which it serves others before it is complete, the rest being for when
  // nobody at home there has room.
  std::uint8_t home = kNoHome;
  // Its node's slot in the reduction that makes this object, counted towards the root; 0: none.
  std::uint32_t slot = 0;
  StripeMarks marks;        // at least so many blocks are valid
  StripeMask produces = 0;  // makes these itself, of its own Put or fold; none once it is complete
  StripeMask wanted = 0;    // asked for with Want
  StripeMask done = 0;
  std::uint64_t order = 0;  // of its request; 0: never wanted, put or held
  Boxed<Flow> flows;  // not there before anything flows, nor once it has all and serves nobody

  // Has, or will have without any source, every byte of these stripes: may serve at any offset.
  bool FinalIn(StripeMask stripes) const { return complete || (stripes & ~produces) == 0; }
  // All those.
  StripeMask final_stripes() const { return complete ? all() : produces; }
  bool final() const { return complete || (produces != 0 && FinalIn(all())); }
  const Flow& flow() const { return flows.OrEmpty(); }
  const Place& place(std::size_t group) const { return flow().places[group]; }
  StripeMask fed() const { return flow().fed; }
  StripeMask parked() const { return complete ? 0 : wanted & ~done & ~produces & ~fed(); }
  // Blocks that it has, of all stripes or of these.
  std::uint64_t progress() const;
  std::uint64_t progress(StripeMask among) const;
  // What feeds the stripe; no grant: nothing does.
  const Feed& feed(std::size_t stripe) const;
  // What fed the first of these stripes that lost its feed; null: none did, or it does not matter.
  const Feed* lost(StripeMask among) const;
  // The first lost grant of these stripes whose stream may still run, or none.
  GrantId superseded(StripeMask among) const;
  bool superseded() const;
  // The receiver closed this grant, which is not open: its stream ended. One of a predecessor goes
  // by another id here.
  void StreamEnded(const GrantId& grant);
  // It was told of its sources, or needs none: no stream that isn't in the books feeds it.
  void ForgetLost();
  void ForgetOrphaned();
  // Nothing flows, and what flowed does not matter any more: that is not kept.
  void Rest();

 private:
  StripeMask all() const { return ~StripeMask{0} >> (kMaxStripes - marks.size()); }
};

// The stripes of a set, for range-for.
std::vector<std::uint32_t> StripesOf(StripeMask mask);
std::uint32_t Count(StripeMask mask);

}  // namespace hoplite::planner

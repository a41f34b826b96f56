// CopyTable: all copies of one version of one object, who feeds whom, and the ordered indexes that
// make finding a receiver, a source or somebody behind cost O(log n). The indexes, and where a copy
// stands in them, are kept per group of stripes: groups are planned apart.
//
// Decides nothing. Keeps copies, open grants and indexes in agreement, and units accounted for.
// A value type, not thread-safe. Copies and grants are in copy_table.cpp, the indexes in
// copy_table_indexes.cpp, forests in copy_table_forest.cpp, the invariants in copy_table_check.cpp.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/boxed.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/layout.h"
#include "base/one_or_set.h"
#include "base/time.h"
#include "planner/copies/copy.h"
#include "planner/copies/per_group.h"
#include "planner/copies/stripe_groups.h"

namespace hoplite::planner {

struct OpenGrant {
  NodeId receiver = kNoNode;
  NodeId source = kNoNode;
  StripeMask stripes = 0;
  bool adopted = false;      // given by a predecessor of this shard, under another id
  bool leaf = false;         // takes no unit: who passes the object on is not held up
  bool equality_ok = false;  // the source may be no farther than the receiver
  GrantId known_as;          // of an adopted one: its id at the receiver
  Time since{};              // of one that this shard gave: when
};

// Orders of the indexes. Ties always end at the node id.
struct SourceKey {
  bool partial = false;  // complete before partial
  bool away = false;     // in a forest: those at home elsewhere come last
  std::uint32_t used = 0;
  bool on_disk = false;
  Time lag{};
  std::uint64_t order = 0;
  NodeId node = kNoNode;
  friend auto operator<=>(const SourceKey&, const SourceKey&) = default;
};
// What one group of a forest is to a copy; of other versions kNone.
enum class Home : std::uint8_t { kNone, kHere, kElsewhere };
struct ParkedKey {
  bool waits = false;        // orphans first, and leaves, which take nobody's place
  Home home = Home::kNone;   // then whoever serves others in this group
  std::uint64_t behind = 0;  // then whoever has most: the others can be granted behind it
  std::uint32_t slot = 0;
  std::uint64_t distance = 0;  // from the origin, in ring order
  NodeId node = kNoNode;
  friend auto operator<=>(const ParkedKey&, const ParkedKey&) = default;
};
// Before others in this order are those that may pull from them.
struct ProgressKey {
  std::uint64_t progress = 0;
  std::uint32_t earlier = 0;  // than slots nearer to the root
  std::uint64_t nearer = 0;   // to the origin than others, in ring order
  NodeId node = kNoNode;
  friend auto operator<=>(const ProgressKey&, const ProgressKey&) = default;
};

class CopyTable {
 public:
  explicit CopyTable(const Layout& layout = {}, NodeId origin = kNoNode)
      : layout_(layout), groups_(origin) {}
  // The groups have all stripes, each one stripes of its own.
  CopyTable(const Layout& layout, StripeGroups groups)
      : layout_(layout), groups_(std::move(groups)) {}

  const Layout& layout() const { return layout_; }
  std::size_t group_count() const { return groups_.size(); }
  StripeMask stripes(std::size_t group) const { return groups_.stripes(group, layout_); }
  std::size_t GroupOf(std::uint32_t stripe) const;
  // Whose Put or fold the group's stripes are; none: the shard did not see them made.
  NodeId origin(std::size_t group) const { return groups_.origin(group); }
  // Learned later: all receivers of the group get new places.
  void SetOrigin(std::size_t group, NodeId origin);
  bool forest() const { return groups_.forest(); }
  // The version, which has one group, becomes a forest of so many. Streams go on: who is fed
  // already has no home and serves in every group.
  void Cut(std::size_t groups);
  // In the forest it is to serve others in this group.
  void SetHome(NodeId node, std::size_t group) {
    Edit(node, [&](Copy& copy) { copy.home = static_cast<std::uint8_t>(group); });
  }
  // So many receivers are at home in the group of the forest.
  std::uint32_t homes(std::size_t group) const { return finals(group).homes; }
  // The units that count when the copy is asked to serve in this group. In a forest they are for all
  // groups together, and whoever serves in every group serves one receiver in each.
  std::uint32_t LoadIn(std::size_t group, const Copy& copy) const;
  // The most units that a pass since it was idle gave it there; of a forest in any group.
  std::uint32_t LimitOf(std::size_t group, const Copy& copy) const;
  // A receiver that stands so much later than another may serve it all the same: `source` got
  // its first byte soon enough after `receiver`.
  bool IsSoonAhead(std::size_t group, const Copy& receiver, const Copy& source,
                   Duration soon) const;
  // `source` refused this receiver although it seemed soon enough: it is later.
  void NoteLate(const OpenGrant& refused, Duration by);
  // How far the node is from the origin in ring order, the same for every shard.
  std::uint64_t DistanceOf(std::size_t group, NodeId node) const {
    return groups_.DistanceOf(group, node);
  }
  const std::map<NodeId, Copy>& copies() const { return copies_; }
  const Copy* Find(NodeId node) const;
  const std::map<GrantId, OpenGrant>& grants() const { return streams_.OrEmpty().grants; }

  const Copy& Add(NodeId node);
  // Every change of a copy goes through here; `change` may set anything but what Open and Close
  // account for: fed, open feeds, serving, used and leaves.
  template <typename Change>
  void Edit(NodeId node, Change change) {
    Copy& copy = copies_.at(node);
    const Standing before = StandingOf(node, copy);
    const bool was_live = copy.live;
    change(copy);
    copy.Rest();
    Move(node, before, StandingOf(node, copy));
    if (copy.live != was_live) CountAbsent(copy);
  }
  // Its receivers become orphans in what it fed; its own feeds end.
  void Remove(NodeId node);
  // Nothing changes for now: gives back what only streams need.
  void Rest();

  // `limit`: the units of the source in each group that the grant has stripes of.
  void Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit);
  // The grant, which is open, has these stripes, too: of another group, with a lag and a limit of
  // its own.
  void Extend(GrantId grant, StripeMask stripes, Time lag, std::uint32_t limit);
  void Close(GrantId grant);
  // The grant, which is closed, failed: its receiver is served before others, best by whoever fed
  // its source.
  void NoteFailed(const OpenGrant& failed);
  // The receiver gets these stripes by a stream that is no open grant, and should not.
  void NoteStray(NodeId receiver, NodeId source, GrantId known_as, StripeMask stripes);
  // This open grant moved its receiver away from that source, whose stream may still run.
  void NoteMoved(GrantId grant, GrantId replaced, NodeId source);
  // What a predecessor gave the receiver under this id, or none.
  GrantId AdoptedBy(NodeId receiver, GrantId known_as) const;

  // What a copy is known to have only grows by its own word. Marks of the wrong shape are ignored.
  void RaiseMarks(NodeId node, const StripeMarks& marks);
  // `source` refused a receiver that has these, as not ahead: it has no more than that, or, if as
  // much would have done, less in at least one of the stripes.
  void LowerMarks(NodeId source, const StripeMarks& receivers, const OpenGrant& refused);
  // `source` sent these: it and those that it pulls from, one behind the other, have them too.
  void RaiseFrom(NodeId source, const StripeMarks& sent, StripeMask stripes);

  // Which of `stripes` `node` gets, directly or through others, from `on`.
  StripeMask DependsOn(NodeId node, NodeId on, StripeMask stripes) const;
  // Who gets which of these stripes from the node, perhaps through others, by the open grants.
  std::map<NodeId, StripeMask> Behind(NodeId node, StripeMask stripes) const;
  // As DependsOn, counting superseded streams; and those of which the end of a chain is out of sight,
  // or whose source left the books.
  StripeMask MayDependOn(NodeId node, NodeId on, StripeMask stripes) const;
  // The stripes of `among` that marks don't fill; if they fill each of them, those that have blocks
  // (then only the end of the stream is missing).
  StripeMask Missing(const StripeMarks& marks, StripeMask among) const;
  // The stripes of `among` that have blocks; all of `among` if none has. Where there are fewer runs
  // than stripes nobody asks for the rest.
  StripeMask WithBlocks(StripeMask among) const;

  // Calls `what` with each group that has some of the stripes, and which.
  template <typename What>
  void ForGroups(StripeMask stripes, What what) const {
    for (std::size_t group = 0; group < group_count(); ++group) {
      const StripeMask part = stripes & this->stripes(group);
      if (part != 0) what(group, part);
    }
  }

  OneOrSet<SourceKey> sources(std::size_t group) const;
  // The copy is among them.
  bool IsSource(std::size_t group, const Copy& copy) const;
  // Whatever the group, some source of it is final.
  bool sources_whole() const;
  const std::set<ParkedKey>& parked(std::size_t group) const { return index(group).parked; }
  const std::set<ProgressKey>& feeding(std::size_t group) const { return index(group).feeding; }
  const std::set<NodeId>& starved() const { return streams_.OrEmpty().starved; }
  // Somebody waits for a source, whatever the group.
  bool somebody_parked() const;
  ParkedKey KeyOfParked(std::size_t group, NodeId node, const Copy& copy) const;
  ProgressKey KeyOfProgress(std::size_t group, NodeId node, const Copy& copy) const;
  // Where it stands among those who have as much, before the ring counts. Of several groups: who
  // makes one of them stands before those who only read.
  std::uint32_t SlotOf(const Copy& copy) const;

  // For every stripe somebody has, or will have without any source, all bytes.
  bool whole() const;
  // And its node has a session.
  bool live_whole() const;
  // Every stream in the books comes from a copy of this table.
  bool knows_all_upstreams() const { return streams_.OrEmpty().unrooted.empty(); }
  // No stream runs that isn't in the books.
  bool knows_all_streams() const { return streams_.OrEmpty().superseded == 0; }

  std::string BrokenInvariant() const;
  void AddTo(Digest& digest) const;

 private:
  // Stripes that came to a node one way.
  struct Chain {
    NodeId at = kNoNode;
    StripeMask stripes = 0;
    std::size_t steps = 0;
  };
  // Those that are still to be followed up. Where one forks, since a receiver that is being moved may
  // have two sources, its ways meet again: each node is followed once, not once for each way.
  class Chains {
   public:
    explicit Chains(const Chain& first) : left_{first} {}
    bool ended() const { return left_.empty(); }
    // Without the stripes that were followed from there before.
    Chain Next();
    // Up that feed, `part` of whose stripes matters.
    void Add(const Feed& feed, StripeMask part, std::size_t steps);

   private:
    std::vector<Chain> left_;
    bool fork_ = false;
    std::map<NodeId, StripeMask> followed_;
  };
  struct GroupIndex {
    std::set<ParkedKey> parked;
    std::set<ProgressKey> feeding;
    bool empty() const { return parked.empty() && feeding.empty(); }
    friend bool operator==(const GroupIndex&, const GroupIndex&) = default;
  };
  struct Streams {
    std::map<GrantId, OpenGrant> grants;
    std::set<std::pair<NodeId, GrantId>> unrooted;  // adopted, whose source isn't known
    PerGroup<GroupIndex> indexes;
    std::set<NodeId> starved;
    std::size_t superseded = 0;  // copies that have such a stream

    bool empty() const {
      return grants.empty() && unrooted.empty() && starved.empty() && superseded == 0 &&
             indexes.AllOf([](const GroupIndex& index) { return index.empty(); });
    }
  };

  // So many copies are final in all stripes of a group.
  struct Finals {
    std::uint32_t all = 0;
    std::uint32_t live = 0;
    std::uint32_t homes = 0;  // live copies that are not final and at home there
    friend bool operator==(const Finals&, const Finals&) = default;
  };
  // Where a copy stands in the indexes of one group: its key in each that it is in.
  struct InGroup {
    Finals finals;
    std::optional<SourceKey> source;
    std::optional<ParkedKey> parked;
    std::optional<ProgressKey> feeding;
  };
  struct Standing {
    PerGroup<InGroup> groups;
    bool starved = false;
    bool superseded = false;
  };
  // What is looked for among several copies; one is looked at itself.
  struct Shared {
    PerGroup<std::set<SourceKey>> sources;
    PerGroup<Finals> finals;
  };

  const GroupIndex& index(std::size_t group) const { return streams_.OrEmpty().indexes[group]; }
  Finals finals(std::size_t group) const;
  std::uint64_t ProgressIn(std::size_t group, const Copy& copy) const {
    return group_count() == 1 ? copy.progress() : copy.progress(stripes(group));
  }
  Standing StandingOf(NodeId node, const Copy& copy) const;
  InGroup StandingIn(std::size_t group, NodeId node, const Copy& copy) const;
  // Keeps it in the indexes in which it stands, as it is now; and takes it out of these.
  void Index(NodeId node, const Copy& copy) { Move(node, {}, StandingOf(node, copy)); }
  void Unindex(NodeId node, const Copy& copy) { Move(node, StandingOf(node, copy), {}); }
  void Move(NodeId node, const Standing& from, const Standing& to);
  void MoveIn(std::size_t group, const InGroup& from, const InGroup& to);
  void Share();
  SourceKey KeyOfSource(std::size_t group, NodeId node, const Copy& copy) const;
  Home HomeIn(std::size_t group, const Copy& copy) const;
  void Regroup(Copy& copy) const;
  // So many more stripes are served to the grant's receiver; wraps around for fewer.
  void CountUnits(Place& source, const OpenGrant& grant, std::uint32_t more) const;
  // Its session ended or came back: what feeds it has other units absent.
  void CountAbsent(const Copy& receiver);
  // `part` of what the grant is goes from the source to the receiver.
  void Serve(Flow& source, GrantId grant, const OpenGrant& what, StripeMask part,
             std::uint32_t limit) const;
  void Take(Copy& receiver, GrantId grant, const OpenGrant& what, StripeMask part, Time lag) const;
  void FindSourceOf(NodeId node, Copy& copy);
  void Orphan(GrantId grant);
  NodeId UpstreamOf(const Copy& copy, std::uint32_t stripe) const;
  std::string BrokenCopies() const;
  std::string BrokenPlace(std::size_t group, NodeId node, const Copy& copy) const;
  std::string BrokenGrants() const;
  std::string BrokenIndexes() const;
  std::string Cycle(std::uint32_t stripe) const;

  Layout layout_;
  StripeGroups groups_;
  std::map<NodeId, Copy> copies_;
  // Most objects are at rest, with one copy: then neither of these is there.
  Boxed<Streams> streams_;
  Boxed<Shared> shared_;  // of two copies or more
};

}  // namespace hoplite::planner

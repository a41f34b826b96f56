// CopyTable: all copies of one version of one object, who feeds whom, and the ordered indexes that
// make finding a receiver, a source or somebody behind cost O(log n).
//
// Decides nothing. Keeps copies, open grants and indexes in agreement, and units accounted for.
// A value type, not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/layout.h"
#include "base/one_or_set.h"
#include "base/small_set.h"
#include "base/time.h"

namespace hoplite::planner {

// What feeds one stripe of a copy; no grant: nothing does.
struct Feed {
  GrantId grant;
  NodeId source = kNoNode;
  Time lag{};  // when the first byte could arrive; kept after the feed ended, for a resume
};

// What flows to a copy, and from it to others.
struct Flow {
  StripeMask fed = 0;       // stripes with an open grant
  std::vector<Feed> feeds;  // by stripe; none while none ever was, see Copy::feed
  SmallSet<GrantId> serving;
  std::uint32_t used = 0;    // units: stripes served through open grants, those to leaves excepted
  std::uint32_t leaves = 0;  // stripes served to leaves
  std::uint32_t limit = 0;   // the most units that a pass since it was idle gave it
  // A stream that may still run although its source left the books: until the receiver says that it
  // ended, or is granted another, the receiver may depend on that source.
  GrantId superseded;
  NodeId lost_source = kNoNode;
  NodeId fallback = kNoNode;  // the source of the lost source
  Time granted{};             // when it was granted first, by this shard
};

struct Copy {
  bool live = true;     // its node has a session and vouched for this copy in it
  bool listed = false;  // a holder: others may be sent here. Partial: from its first grant on (R9)
  bool complete = false;
  bool producing = false;
  bool primary = false;   // made by a Put, or the last complete copy: not to be evicted
  bool evicting = false;  // asked to be dropped: gets no new receivers
  bool leaf = false;      // keeps nothing: never listed (R38)
  bool orphan = false;    // lost its source: served before others, may exceed units by one receiver
  bool starved = false;   // its source proves life but makes no progress
  // Its node's slot in the reduction that makes this object, counted towards the root; 0: none.
  std::uint32_t slot = 0;
  StripeMarks marks;      // at least so many blocks are valid
  StripeMask wanted = 0;  // asked for with Want
  StripeMask done = 0;
  std::uint64_t order = 0;  // of its request; 0: never wanted, put or held
  Boxed<Flow> flows;  // not there before anything flows, nor once it has all and serves nobody

  // Has, or will have without any source, every byte: may serve at any offset.
  bool final() const { return complete || producing; }
  const Flow& flow() const { return flows.OrEmpty(); }
  StripeMask fed() const { return flow().fed; }
  StripeMask parked() const { return final() ? 0 : wanted & ~done & ~fed(); }
  std::uint64_t progress() const;
  Time lag() const;
  const Feed& feed(std::size_t stripe) const;
  // No stream that isn't in the books feeds it.
  void ForgetSuperseded();
  // Nothing flows, and what flowed does not matter any more: that is not kept.
  void Rest();
};

struct OpenGrant {
  NodeId receiver = kNoNode;
  NodeId source = kNoNode;
  StripeMask stripes = 0;
  bool adopted = false;      // given by a predecessor of this shard: its real id is not known
  bool leaf = false;         // takes no unit: who passes the object on is not held up
  bool equality_ok = false;  // the source may be no farther than the receiver
};

// Orders of the indexes. Ties always end at the node id.
struct SourceKey {
  bool partial = false;  // complete before partial (R6)
  std::uint32_t used = 0;
  Time lag{};
  std::uint64_t order = 0;
  NodeId node = kNoNode;
  friend auto operator<=>(const SourceKey&, const SourceKey&) = default;
};
struct ParkedKey {
  bool waits = false;        // orphans first, and leaves, which take nobody's place
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
      : layout_(layout), origin_(origin) {}

  const Layout& layout() const { return layout_; }
  // Whose Put or fold the version is; none: the shard did not see it made.
  NodeId origin() const { return origin_; }
  // Learned later: all receivers get new places.
  void SetOrigin(NodeId origin);
  // How far the node is from the origin in ring order (R39), the same for every shard.
  std::uint64_t DistanceOf(NodeId node) const { return Raw(node) - Raw(origin_); }
  const std::map<NodeId, Copy>& copies() const { return copies_; }
  const Copy* Find(NodeId node) const;
  const std::map<GrantId, OpenGrant>& grants() const { return streams_.OrEmpty().grants; }

  const Copy& Add(NodeId node);
  // Every change of a copy goes through here; `change` may set anything but what Open and Close
  // account for: fed, feeds, serving, used and leaves.
  template <typename Change>
  void Edit(NodeId node, Change change) {
    auto entry = copies_.find(node);
    Unindex(entry->first, entry->second);
    change(entry->second);
    entry->second.Rest();
    Index(entry->first, entry->second);
  }
  // Its receivers become orphans; its own feeds end.
  void Remove(NodeId node);
  // Nothing changes for now: gives back what only streams need.
  void Rest();

  void Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit);
  void Close(GrantId grant);
  // The grant of a predecessor that feeds this receiver, or none.
  GrantId AdoptedBy(NodeId receiver) const;

  // What a copy is known to have only grows by its own word. Marks of the wrong shape are ignored.
  void RaiseMarks(NodeId node, const StripeMarks& marks);
  // `source` refused a receiver that has these, as not ahead: it has no more than that, or, if as
  // much would have done, less in at least one of the stripes.
  void LowerMarks(NodeId source, const StripeMarks& receivers, const OpenGrant& refused);
  // `source` sent these: it and those that it pulls from, one behind the other, have them too.
  void RaiseFrom(NodeId source, const StripeMarks& sent, StripeMask stripes);

  // Whether `node` gets a stripe of `stripes`, directly or through others, from `on`.
  bool DependsOn(NodeId node, NodeId on, StripeMask stripes) const;
  // The same, counting superseded streams; true also if the end of a chain is out of sight.
  bool MayDependOn(NodeId node, NodeId on, StripeMask stripes) const;
  // The stripes of `among` that marks don't fill; all of `among` if they fill each of them (then
  // only the end of the stream is missing).
  StripeMask Missing(const StripeMarks& marks, StripeMask among) const;

  OneOrSet<SourceKey> sources() const;
  const std::set<ParkedKey>& parked() const { return streams_.OrEmpty().parked; }
  const std::set<ProgressKey>& feeding() const { return streams_.OrEmpty().feeding; }
  const std::set<NodeId>& starved() const { return streams_.OrEmpty().starved; }
  ParkedKey KeyOfParked(NodeId node, const Copy& copy) const;
  ProgressKey KeyOfProgress(NodeId node, const Copy& copy) const;

  std::size_t final_count() const { return final_count_; }
  std::size_t live_final_count() const { return live_final_count_; }
  // Every stream in the books comes from a copy of this table.
  bool knows_all_upstreams() const { return streams_.OrEmpty().unrooted.empty(); }
  // No stream runs that isn't in the books.
  bool knows_all_streams() const { return streams_.OrEmpty().superseded == 0; }

  std::string BrokenInvariant() const;
  void AddTo(Digest& digest) const;

 private:
  struct Streams {
    std::map<GrantId, OpenGrant> grants;
    std::set<std::pair<NodeId, GrantId>> unrooted;  // adopted, whose source isn't known
    std::set<ParkedKey> parked;
    std::set<ProgressKey> feeding;
    std::set<NodeId> starved;
    std::size_t superseded = 0;  // copies that have such a stream

    bool empty() const {
      return grants.empty() && unrooted.empty() && parked.empty() && feeding.empty() &&
             starved.empty() && superseded == 0;
    }
  };

  void IndexSources();
  void Index(NodeId node, const Copy& copy);
  void Unindex(NodeId node, const Copy& copy);
  static bool IsSource(const Copy& copy);
  static SourceKey KeyOfSource(NodeId node, const Copy& copy);
  void FindSourceOf(NodeId node, Copy& copy);
  void Orphan(GrantId grant);
  NodeId UpstreamOf(const Copy& copy, std::uint32_t stripe) const;
  std::string BrokenCopies() const;
  std::string BrokenGrants() const;
  std::string BrokenIndexes() const;
  std::string Cycle(std::uint32_t stripe) const;

  Layout layout_;
  NodeId origin_;
  std::map<NodeId, Copy> copies_;
  // Most objects are at rest, with one copy: then neither of these is there.
  Boxed<Streams> streams_;
  Boxed<std::set<SourceKey>> sources_;  // of two copies or more
  std::uint32_t final_count_ = 0;
  std::uint32_t live_final_count_ = 0;
};

// The stripes of a set, for range-for.
std::vector<std::uint32_t> StripesOf(StripeMask mask);

}  // namespace hoplite::planner

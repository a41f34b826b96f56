// SourceSelector: one planning pass over the parked receivers of one object, group by group of its
// stripes. What a receiver gets from one source in several groups is one grant.
//
// Decides: which holder serves which receiver, and which receiver hands its source on. Is told: the
// table of copies, the cost model, who is kept apart. Must never: pick a source that is behind the
// receiver (in a forest: too far behind), depends on it, or is full (an orphan, or one that
// passes another, may make it exceed its units by one receiver); move a stream of several groups in
// one where it may not in all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/flow_samples.h"
#include "planner/copies/node_table.h"
#include "planner/serving/rates.h"
#include "planner/words/expiring.h"
#include "planner/words/stamps.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// (receiver, source)
using KeepApart = Expiring<std::pair<NodeId, NodeId>>;

// What is known of how fast links are; and how long a receiver keeps a source.
struct Measured {
  const NodeTable& nodes;
  FlowSamples& samples;
  Duration keeps;
};

struct PassRules {
  Time now;
  const LinkModel& link;
  const KeepApart& apart;
  bool knows_members = false;                        // not collecting, no inventory under way
  std::pair<NodeId, NodeId> kept{kNoNode, kNoNode};  // nobody but this one may be behind that one
  Duration fresh{0};       // so long after its grant a receiver hands on its place
  bool takes_over = true;  // whoever has more takes the source of a receiver that has less
  std::optional<Measured> unequal = std::nullopt;  // links or sites differ, so rates count
};

struct Decision {
  GrantId grant;
  OpenGrant what;
  GrantId replaces;
  bool newly_listed = false;
  MoveReason why = MoveReason::kNone;
};

class SourceSelector {
 public:
  SourceSelector(CopyTable& table, Stamps& stamps, const PassRules& rules);
  // Opens grants in the table. Costs O(log n) per grant for receivers that start at 0; one that
  // resumes looks at the free sources that are behind it, too.
  void Run();
  // The receiver, which is being fed, takes that source instead, which may serve one more for it.
  bool MoveTo(NodeId receiver, NodeId source);
  // Holders serve one receiver each.
  bool InALine() const { return turns_.front().in_a_line; }
  // It takes a place in the line that begins at `first`: between two, or at the end.
  bool MoveIntoLine(NodeId receiver, NodeId first);
  // It takes whichever other source is free.
  bool MoveBehindOthers(NodeId receiver);

  // In a forest it serves nobody any more, until it is complete; those behind it get other sources,
  // which may each serve one more for it.
  void LeaveHome(NodeId slow);

  // Receivers that were placed lately, but not by the ring, come to stand by it: each moves
  // once in a pass, if it may. False: all stand so.
  bool PutInRingOrder();

  // Receivers for whom another holder is worth a move get that one; who gained nothing by such a move
  // goes back.
  void Improve();

  // How many holders were looked at.
  std::int64_t looks() const { return looks_; }
  // What was granted, in order.
  const std::vector<Decision>& decisions() const { return decisions_; }

 private:
  // A leaf takes no unit.
  static constexpr std::uint32_t kAnyUnits = std::numeric_limits<std::uint32_t>::max();

  struct Choice {
    NodeId source = kNoNode;
    StripeMask stripes = 0;
  };
  // How the receivers of one group are served.
  struct Turn {
    // That a receiver takes of its source: the group's stripes that have blocks. Of a forest: all.
    std::uint32_t receiver = 0;
    // Of every holder: the receivers that it serves × that. Of a forest: all stripes.
    std::uint32_t units = 0;
    bool in_a_line = false;  // holders serve one receiver each
    std::uint64_t lead = 0;  // whoever has so many blocks, or less, may be moved for a newcomer
  };
  enum class Served { kYes, kUnsuitable, kNobodyFree };

  // From now on the receivers of this group are served.
  void TurnTo(std::size_t group);
  // The group of the first stripe that feeds it.
  void TurnToFirst(NodeId receiver);
  void RunGroup();
  void LinkHomes();
  // The first who waits in this group after `last`, which becomes `last`. False: there is none, or
  // those who come now are at home elsewhere than `farthest`, or nobody after it can be served.
  bool ServeNext(std::optional<ParkedKey>& last, Home farthest);
  const Place& place(NodeId node) const { return place(group_, node); }
  const Place& place(std::size_t group, NodeId node) const {
    return table_.Find(node)->place(group);
  }
  Served Serve(NodeId receiver);
  Served ServeLeaf(NodeId receiver);
  // Whoever waits: those that lost a source, then those of a site that has all, then the faster ones.
  std::vector<NodeId> FasterFirst() const;
  Served ServeByRate(NodeId receiver);
  // The holder that gives it most; `shown`: of those that were shown to send something.
  std::optional<Choice> FindWidest(NodeId receiver, StripeMask need, bool shown = false) const;
  bool IsFedWithin(NodeId receiver) const;
  // It may leave that grant's source now.
  bool MayLeave(NodeId receiver, const OpenGrant& open) const;
  void ImproveOne(NodeId receiver);
  // It makes room at its source for others, if it holds them up.
  bool GiveWay(NodeId receiver, const OpenGrant& open);
  // It was moved by what was measured, and two windows have passed.
  void EndTrial(NodeId receiver, const OpenGrant& open);
  bool GoBack(NodeId receiver, NodeId former, StripeMask need);
  // The same as Replace; the receiver may pull from its old source, too, until it has heard.
  bool Move(NodeId receiver, const Choice& better, MoveReason why);
  // Those whom a newcomer could displace, in ring order.
  std::vector<NodeId> FreshLine() const;
  // The first source upstream that is none of them.
  NodeId HeadOf(NodeId receiver, const std::vector<NodeId>& line) const;
  void MoveBehind(NodeId receiver, NodeId source);
  // It is ahead, or soon will be.
  bool MayFeed(NodeId receiver, NodeId source, StripeMask need) const;
  // The receiver takes the source, and who gets bytes from there takes the receiver.
  bool MayStandBetween(NodeId source, NodeId receiver, NodeId behind, StripeMask need) const;
  // One of its streams in each group.
  void MoveStarved(NodeId receiver);
  // The grant that feeds the first of its stripes in the group; null if none does, or a predecessor
  // of this shard gave it.
  const OpenGrant* FirstGrant(NodeId receiver) const;
  GrantId FirstGrantId(NodeId receiver) const;
  // All that this grant brings, from others; false if somebody who could is missing.
  bool GrantElsewhere(GrantId grant);
  // It takes the better source for the stripes of its first grant, if that is another one.
  bool Replace(NodeId receiver, const std::optional<Choice>& better, MoveReason why);
  // Complete holders first, the least used of them; then the free partial holder of least lag.
  // Sources are looked for in this group; they may serve other stripes of `need`, too.
  std::optional<Choice> FindFree(NodeId receiver, StripeMask need, std::uint32_t limit);
  // A leaf takes nobody's unit, and all that it misses from one source: an idle holder's, or
  // whichever serves no other leaf.
  std::optional<Choice> FindForLeaf(NodeId receiver, StripeMask need);
  std::optional<Choice> FindFinal(NodeId receiver, StripeMask need, std::uint32_t limit);
  std::optional<Choice> FindPartial(NodeId receiver, StripeMask need, std::uint32_t limit);
  // `away`: among those that are at home in another group of the forest.
  std::optional<Choice> FindPartial(NodeId receiver, StripeMask need, std::uint32_t limit,
                                    bool away);
  bool SomebodyFree(StripeMask need) const;
  // The nearest ancestor of the lost source: the dead node's slot there is as good as free.
  std::optional<Choice> FindFallback(NodeId receiver, StripeMask need);
  bool TakeOver(NodeId receiver, StripeMask need);
  bool TakeFreshPlace(NodeId receiver, StripeMask need);
  // When the source has to be ahead: the receiver's FETCH may be held until it is (R7).
  enum class Ahead : std::uint8_t { kNow, kSoon };
  // The source of the one behind for `need`, and for what else both get or want from there.
  bool TakeOverFrom(NodeId receiver, StripeMask need, NodeId behind, Ahead ahead = Ahead::kNow);
  // The receiver takes its source for `need` of the group, and feeds it with `part`.
  bool MayTakeOver(std::size_t group, NodeId receiver, StripeMask need, NodeId behind,
                   const OpenGrant& taken, Ahead ahead) const;
  bool MayPass(std::size_t group, NodeId receiver, NodeId behind) const;
  bool IsFresh(std::size_t group, NodeId receiver, NodeId behind) const;
  // The stripes of `need` in which `source` may serve `receiver`.
  StripeMask Eligible(NodeId receiver, NodeId source, StripeMask need,
                      Ahead ahead = Ahead::kNow) const;
  // The same; of other groups than this one those in which it is a source with room, as in HasRoom.
  StripeMask MayServe(NodeId receiver, NodeId source, StripeMask need, bool more = false) const;
  // It has room for `stripes` in each of their groups; `more`: and for one receiver beyond its units.
  bool HasRoom(NodeId source, StripeMask stripes, bool more = false) const;
  // There is no path from the source to the receiver, not even one that the books don't show (R7):
  // in which of the stripes.
  StripeMask EqualityOk(NodeId receiver, NodeId source, StripeMask stripes) const;
  bool books_are_complete() const {
    return rules_.knows_members && table_.knows_all_upstreams() && table_.knows_all_streams();
  }
  void Grant(NodeId receiver, const Choice& choice, GrantId replaces,
             MoveReason why = MoveReason::kNone);
  void GrantIn(std::size_t group, NodeId receiver, const Choice& choice, GrantId replaces,
               MoveReason why = MoveReason::kNone);
  // Says it, or adds its stripes to what this pass grants to the receiver from there.
  void Open(const OpenGrant& what, GrantId replaces, MoveReason why, Time lag, std::uint32_t units);
  // Null: there is none that this may be one with.
  Decision* SameStream(const OpenGrant& what, GrantId replaces);
  std::uint32_t units() const { return turns_[group_].units; }
  std::uint32_t one_more_receiver() const { return units() + turns_[group_].receiver; }

  CopyTable& table_;
  Stamps& stamps_;
  PassRules rules_;
  Duration hop_;
  Duration soon_{0};            // a source of a forest may be so much later than its receiver
  std::optional<Rates> rates_;  // where links differ
  std::vector<Turn> turns_;     // of each group
  std::size_t group_ = 0;   // whose receivers are served: groups are planned one after the other
  StripeMask stripes_ = 0;  // of the group
  mutable std::int64_t looks_ = 0;
  std::vector<Decision> decisions_;
  // Of several groups: which decisions are of a receiver and a source.
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> said_;
};

}  // namespace hoplite::planner

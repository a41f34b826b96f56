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
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/serving/pass_rules.h"
#include "planner/serving/rates.h"
#include "planner/serving/sources.h"
#include "planner/words/stamps.h"
#include "planner/words/words.h"

namespace hoplite::planner {

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
  bool InALine() const { return sources_.turn(0).in_a_line; }
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
  std::int64_t looks() const { return sources_.looks(); }
  // What was granted, in order.
  const std::vector<Decision>& decisions() const { return decisions_; }

 private:
  using Choice = Sources::Choice;
  using Among = Sources::Among;
  using Ahead = Sources::Ahead;
  enum class Served { kYes, kUnsuitable, kNobodyFree };
  // So many of those that have least are looked at, for who was placed lately.
  static constexpr int kFreshLooks = 64;

  void RunGroup();
  void LinkHomes();
  // The first who waits in this group after `last`, which becomes `last`. False: there is none, or
  // those who come now are at home elsewhere than `farthest`, or nobody after it can be served.
  bool ServeNext(std::optional<ParkedKey>& last, Home farthest);
  const Place& place(NodeId node) const { return place(sources_.group(), node); }
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
  // The same as Replace; until the receiver has heard of it, it counts as depending on both sources. A
  // trial, and who starves, do without: they may be moved again before.
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
  // It takes the source of another one, which then gets the bytes from it: in a line that of the nearest
  // who was placed lately, while it has nothing; else that of somebody who has less.
  bool TakePlace(NodeId receiver, StripeMask need);
  NodeId NearestFresh(NodeId receiver) const;
  // For `need`, and for what else both get or want from there.
  bool TakePlaceOf(NodeId behind, NodeId receiver, StripeMask need, Ahead ahead);
  // The receiver takes its source for `need` of the group, and feeds it with `part`.
  bool MayTakePlace(std::size_t group, NodeId receiver, StripeMask need, NodeId behind,
                    const OpenGrant& taken, Ahead ahead) const;
  bool MayPass(std::size_t group, NodeId receiver, NodeId behind) const;
  bool IsFresh(std::size_t group, NodeId receiver, NodeId behind) const;
  void Grant(NodeId receiver, const Choice& choice, GrantId replaces,
             MoveReason why = MoveReason::kNone);
  void GrantIn(std::size_t group, NodeId receiver, const Choice& choice, GrantId replaces,
               MoveReason why = MoveReason::kNone);
  // Says it, or adds its stripes to what this pass grants to the receiver from there.
  void Open(const OpenGrant& what, GrantId replaces, MoveReason why, Time lag, std::uint32_t units);
  // Null: there is none that this may be one with.
  Decision* SameStream(const OpenGrant& what, GrantId replaces);

  CopyTable& table_;
  Stamps& stamps_;
  const PassRules rules_;
  Sources sources_;
  std::optional<Rates> rates_;  // where links differ
  std::vector<Decision> decisions_;
  // Of several groups: which decisions are of a receiver and a source.
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> said_;
};

}  // namespace hoplite::planner

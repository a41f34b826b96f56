// SlowRelays: finds the receiver of one object that everybody behind it waits for, and has them
// pass it.
//
// Decides: who is suspected, and whether passing it was right: a trial, judged by what came to the
// one that passes, by its own clock. Is told: how far receivers are, as they report it. Must never:
// suspect a receiver whose source itself waits for bytes, or one that feeds nobody; pass more than one
// at a time; try a link again that was full lately; give away the place to which one may go back; let
// a source serve two for long, also where somebody else began that.
// A value type.
//
//   before   source ──▶ slow ──▶ faster ──▶ … ──▶ last
//   passing  source ──▶ slow                                 the source serves one receiver more
//              └─────────▶ faster ──▶ … ──▶ last
//   after    source ──▶ faster ──▶ … ──▶ last ──▶ slow       or as before, if it is no faster
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/copies/flow_samples.h"
#include "planner/copies/node_table.h"
#include "planner/serving/source_selector.h"

namespace hoplite::planner {

class SlowRelays {
 public:
  // So much comes to the receiver, whose source has more. It is suspected if somebody behind it
  // should be much faster; or (`tries`) if nobody knows what its source can send.
  void Judge(NodeId receiver, double bytes_per_second, bool tries, const CopyTable& table,
             const NodeTable& nodes, Time now);
  // Its source has the whole object and serves two of a line alike, by a trial that this shard does
  // not know, or by a loss: one of them is to go behind the other.
  void JudgeTwo(NodeId receiver, const CopyTable& table, const FlowSamples& samples, Time now);
  // The receiver closed that grant, which had been taken back: its stream brings nothing any more.
  void Closed(GrantId grant);
  // Rates count now: nobody is passed. Who was cleared stays so.
  void Stop() {
    suspect_ = kNoNode;
    passing_.reset();
  }
  // Act has something to do.
  bool busy() const { return suspect_ != kNoNode || passing_; }
  // Whose place behind which source is kept for it: it may come back. kNoNode: nobody's.
  std::pair<NodeId, NodeId> Kept(const CopyTable& table) const;
  // One step of a passing: it begins, or ends one way or the other.
  void Act(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
           SourceSelector& selector, Time now);

 private:
  struct Passing {
    NodeId slow = kNoNode;
    NodeId faster = kNoNode;
    NodeId source = kNoNode;
    NodeId former = kNoNode;  // the source of the faster one before
    GrantId replaced;         // its stream from there, until that is closed
    Time since;
    double before = 0;  // bytes per second that came to the slow one alone
    // With the first bytes of the faster one; and what the slow one had then.
    std::optional<FlowSamples::Mark> from;
    std::optional<FlowSamples::Mark> slow_from;
  };

  void Begin(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
             SourceSelector& selector, Time now);
  void Continue(const CopyTable& table, const FlowSamples& samples, NodeTable& nodes,
                SourceSelector& selector, Time now);
  // Both are still fed by that source.
  bool Goes(const CopyTable& table) const;
  enum class Verdict : std::uint8_t { kOpen, kYes, kNo };
  Verdict Pays(const CopyTable& table, const FlowSamples& samples, Time now);

  std::map<NodeId, Time> cleared_;  // when they proved to be as fast as who was to pass them
  NodeId suspect_ = kNoNode;
  NodeId faster_ = kNoNode;  // who gets the bytes from the suspect and is to pass it
  std::optional<Passing> passing_;
};

}  // namespace hoplite::planner

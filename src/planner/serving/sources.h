// Sources: who may serve whom, and who is found for a receiver, in one planning pass over the groups
// of an object's stripes.
//
// Decides: which holder is a source for which receiver, and in which order holders are tried. Is told:
// the table of copies, the cost model, who is kept apart. Must never: find a source that is behind
// the receiver (in a forest: too far behind), depends on it, or is full (an orphan, or one that
// passes another, may make it exceed its units by one receiver); change the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/copy_table.h"
#include "planner/serving/pass_rules.h"

namespace hoplite::planner {

class Sources {
 public:
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
  enum class Among : std::uint8_t { kAll, kFinal, kPartial };
  // When the source has to be ahead: the receiver's FETCH may be held until it is (R7).
  enum class Ahead : std::uint8_t { kNow, kSoon };

  // Both outlive it. It begins with the first group.
  Sources(const CopyTable& table, const PassRules& rules);

  // From now on the receivers of this group are served.
  void TurnTo(std::size_t group);
  // The group of the first stripe that feeds it.
  void TurnToFirst(NodeId receiver);
  std::size_t group() const { return group_; }
  StripeMask stripes() const { return stripes_; }  // of the group
  const Turn& turn() const { return turns_[group_]; }
  const Turn& turn(std::size_t group) const { return turns_[group]; }
  std::uint32_t units() const { return turn().units; }
  std::uint32_t one_more_receiver() const { return units() + turn().receiver; }
  // Of one more hop.
  Duration hop() const { return hop_; }

  // The first holder in order that may serve the receiver: complete ones, the least used first; then
  // the free partial one of least lag, of another group of a forest last. It serves other stripes of
  // `need` than the group's, too; a partial one perhaps not all of them.
  std::optional<Choice> Find(NodeId receiver, StripeMask need, std::uint32_t limit,
                             Among among = Among::kAll);
  // The nearest ancestor of the lost source: the dead node's slot there is as good as free.
  std::optional<Choice> FindFallback(NodeId receiver, StripeMask need) const;
  bool SomebodyFree(StripeMask need) const;

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

  // How many holders were looked at.
  std::int64_t looks() const { return looks_; }
  void NoteLooks(std::size_t looks) const { looks_ += static_cast<std::int64_t>(looks); }

 private:
  Turn TurnOf(StripeMask stripes, std::uint64_t degree) const;
  std::optional<Choice> LeastUsed(NodeId receiver, StripeMask need, std::uint32_t limit);
  // `away`: among those that are at home in another group of the forest.
  std::optional<Choice> LeastLag(NodeId receiver, StripeMask need, std::uint32_t limit, bool away);
  // Those of `need` in which the source has more blocks, or as many and may have.
  StripeMask AheadIn(NodeId receiver, NodeId source, StripeMask need) const;

  const CopyTable& table_;
  const PassRules& rules_;
  const Duration hop_;
  const Duration soon_;      // a source of a forest may be so much later than its receiver
  std::vector<Turn> turns_;  // of each group
  std::size_t group_ = 0;    // groups are planned one after the other
  StripeMask stripes_ = 0;
  mutable std::int64_t looks_ = 0;
};

}  // namespace hoplite::planner

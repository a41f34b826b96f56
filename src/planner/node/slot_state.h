// SlotState: one slot of a reduction, in one version, as the node sees it that executes it (R30,
// R31, R33-R36, R45 and R64 of docs/protocol.md).
//
// A slot makes some stripes of the target's, in a tree all; each of its children feeds it some of
// those, and each stripe is final by itself. A root of a part leaves the rest of the target, which is
// its output, to others of its node.
//
//   finds its sources -> has an output -> folds -> final -> (root: committed)
//                         ^                |         |
//                         '---- rests <----'---------'   its memory is given back
//
// Decides: when one of its own sources is lost; how long it waits for memory, when it can do
// without it, and when it asks for it again; when a child's output is pulled, when once more, and
// when the child is lost; when a stripe of the output is final, and when it is sealed; what the shard
// is told, and told again in an inventory.
// Is told: how its sources are, whether there is memory, where its children's outputs are and how
// their streams end, what its parents ask for and have, the shard's commit; and the time.
// Must never: pull a block of a child that is folded, or a stripe whose END it has seen, call a
// stripe final before every input's END of it is folded, or seal a root before the shard's commit.
// Knows no clock, socket, thread or byte: node::Slot has these, and a simulation has its own. Copies
// are states of their own: exhaustive search copies them. Which block is folded next is decided
// where the bytes are (node/reduce/accumulator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// A source of the slot's own, as its node has it.
enum class OwnSource : std::uint8_t {
  kMissing,      // nothing of this version
  kOtherLayout,  // it can't be folded into this target
  kGrowing,
  kFinal,
  kDeleted,  // void, for this or another reason
  kVoid,
};

// How far the fold is.
struct FoldProgress {
  bool any = false;            // a block of what the slot makes is made
  StripeMask made = 0;         // stripes of which every block is
  bool of_each_child = false;  // a block of each child is folded
};

// How the streams that pulled a child's output ended, if not all of their ENDs came.
struct StreamsEnd {
  Failure failure = Failure::kNone;
  std::string why;
};

class SlotState {
 public:
  // What its node is to do, in this order.
  struct Effects {
    struct Pull {
      std::uint32_t input = 0;
      StripeMask stripes = 0;
      StripeMarks from;  // in blocks, by stripe
    };
    std::vector<NodeEvent> say;  // to the shard; its node adds marks and link to a SlotProgress
    std::vector<Pull> pull;      // open streams for these stripes of that child's output
    StripeMask seal = 0;         // of the output: final for whoever has them
  };

  // `node_name` is for messages.
  SlotState(SlotAssigned order, std::string node_name, Time now);
  virtual ~SlotState() = default;

  // --- told. First how its sources are; again after OnOutput, after each change, and when Plan
  // asked for a look.
  void OnSource(std::size_t i, OwnSource source, Time now, Effects& out);
  // Memory, when it wants an output: `ever` says whether so much can be free some day.
  void OnOutput(Time now);
  void OnNoMemory(bool ever, Time now, Effects& out, bool disk_works = false);
  // Its node can't make it, for another reason.
  void OnRefused(const Error& why, Effects& out);
  // False: it was known, or is not for this version.
  bool OnFeed(const SlotFeed& feed);
  // END of these stripes of a child's output; then the end of all streams that a Pull opened, and
  // how far each stripe is folded by now.
  void OnStripesEnded(std::uint32_t input, StripeMask stripes);
  void OnStreamsEnded(std::uint32_t input, const StreamsEnd& end, const StripeMarks& folded,
                      Time now, Effects& out);
  // A parent asks for these stripes of the output. True: its parents had all before, and perhaps
  // they were given back.
  bool OnAsked(StripeMask stripes);
  // A parent has all of these stripes. True: with the others it has all there are.
  bool OnDrained(StripeMask stripes);
  // Its memory is wanted, and Spares said so. When the streams have ended and the memory is back,
  // LetGo: whatever was folded is folded once more, in the same version.
  virtual void GiveBack();
  void LetGo(Time now);
  void OnCommitted(Effects& out);
  // Not needed any more, or replaced by a newer version.
  void Drop() { dropped_ = true; }

  // --- answers
  // What is due; when it wants to be asked again. After each change of the above.
  Time Plan(Time now, const FoldProgress& folded, Effects& out);
  // What its shard may have missed.
  std::vector<NodeEvent> Inventory() const;
  // It has its sources and waits for an output; nothing has to be reserved for one that serves its
  // only source as it is.
  bool WantsOutput(Time now) const;
  bool serves_source() const;
  // It can do without its memory, if a part of this operation waits for some, or, for none, if
  // anybody does.
  bool Spares(const std::optional<ObjectId>& operation, const FoldProgress& folded, Time now) const;
  bool gives_back() const { return gives_back_; }

  const SlotAssigned& order() const { return order_; }
  Version version() const { return order_.version; }
  std::uint32_t number() const { return order_.order.slot; }
  bool root() const { return order_.order.root(); }
  bool failed() const { return failure_.has_value(); }
  // Of the target's stripes; all of a tree's slots make all.
  StripeMask makes() const { return order_.order.stripes; }
  bool makes_all() const { return makes() == order_.layout.all_stripes(); }
  bool final() const { return final_stripes_ == makes(); }
  bool committed() const { return committed_; }
  bool dropped() const { return dropped_; }
  bool over() const { return dropped_ || committed_; }

  // A child, and what is known of its output.
  struct Child {
    SlotFeed feed;
    bool open = false;                      // streams pull it
    bool lost = false;                      // and was reported
    StripeMask end_seen = 0;                // stripes
    StreamsEnd end{};                       // of the last streams
    StripeMarks folded{};                   // when they ended
    std::uint64_t folded_when_failing = 0;  // blocks, at the last failure but NOT_AHEAD
    Time failing_since = kNever;
    Time next_try = Time::min();
  };
  const std::map<std::uint32_t, Child>& children() const { return children_; }
  static bool drained(const Child& child) { return (child.feed.stripes & ~child.end_seen) == 0; }
  // Its output is to be pulled now.
  bool PullIsDue(const Child& child, Time now) const {
    return !child.open && !child.lost && !drained(child) && now >= child.next_try;
  }

  // All that decides about its future: not when it reported last.
  void AddTo(Digest& digest) const;

 protected:
  virtual void PullWhatIsDue(Time now, Effects& out);
  // Where a stream of this child begins.
  virtual StripeMarks ResumesAt(const Child& child) const;
  // Every input of every stripe is final, and folded.
  virtual void Finish(Effects& out);

 private:
  struct Source {
    bool found = false;
    bool final = false;
  };

  bool HasSources() const;
  bool Drained() const { return drained_ == makes(); }
  bool Rests(Time now) const;
  StripeMask FinalOf(const FoldProgress& folded) const;
  void SealWhatIsFinal(const FoldProgress& folded, Effects& out);
  void OnFailedStreams(Child& child, Time now, Effects& out);
  void Report(Time now, Effects& out);
  Duration ReportEvery() const;
  Time NextLook(Time now) const;
  Time NextTime(Time now) const;
  void Fail(ErrorCode code, std::string message, Effects& out);
  SlotProgress Progress() const;
  SlotDrained DrainedOf(const Child& child) const;
  SlotFailed LossOf(const Child& child) const;
  ReduceCommit Commit() const { return {order_.object, order_.version}; }

  SlotAssigned order_;
  std::string node_name_;
  Time begun_at_;
  std::vector<Source> sources_;  // as the order lists them
  bool has_output_ = false;
  Time output_since_{};
  Time waits_for_memory_since_ = kNever;
  bool gives_back_ = false;
  bool rests_until_asked_ = false;  // it gave back what its parents have all of
  Time rests_until_ = Time::min();
  StripeMask final_stripes_ = 0;             // whose inputs are final, and folded
  StripeMask drained_ = 0;                   // that its parents have
  std::map<std::uint32_t, Child> children_;  // by slot
  std::optional<SlotFailed> failure_;        // its own
  bool committed_ = false;
  bool dropped_ = false;
  Time reported_at_;
};

}  // namespace hoplite::planner

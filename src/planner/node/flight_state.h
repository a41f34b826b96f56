// FlightState: what a node decides about one object on its way to it (docs/protocol.md: R4, R5, R8,
// R9, R21, R38, R46, R63, R64, R83).
//
//   Locate ---> located ---> memory, turn ----> Want ---> grants, streams ---> END and every byte
//     ^                                          |
//     '---------------- recalled ----------------'
//
// Room that the node holds while it asks may make its Locate the Want. A copy that the node makes in
// part, as a root of a reduction, is located already, and has memory: only the rest is wanted.
//
// Decides: what is said to the shard and when; which granted stream begins, and which has to end
// before; when the copy is whole; who may do without a turn. Is told: the shard's words, that
// there is memory, how streams end, how far the copy is. Must never: begin a stream before the one
// that it replaces is closed, or of what is made here, close a grant twice, or call a copy whole
// without END. Knows no
// clock, memory, stream or byte: node::Flight has these, and a simulation has its own. Copies are
// states of their own: exhaustive search copies them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/digest.h"
#include "base/layout.h"
#include "base/time.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// How a node asks where an object is. No two questions of a node have one number.
struct Question {
  std::uint64_t number = 0;
  std::uint64_t room = 0;  // bytes of memory that the node holds for the object meanwhile
};

class FlightState {
 public:
  // What its node is to do, in this order.
  struct Effects {
    std::vector<NodeEvent> say;  // to the shard
    std::vector<Grant> open;     // streams from their sources; each ends by Ended, once
    std::vector<GrantId> stop;   // these streams: Ended says when they have
    bool whole = false;          // every byte is there and final: seal it, then Complete
  };

  explicit FlightState(const ObjectId& object) : object_(object) {}
  virtual ~FlightState() = default;

  // --- what its node asks for
  // Where is it? From the start: what an earlier round knew is forgotten. `expects`: as in
  // protocol::Locate.
  void Locate(Effects& out, const Question& question, std::uint64_t expects = 0);
  // Another one that it waits for relies on an owner.
  void Expect(Effects& out, std::uint64_t expects);
  // The room is needed elsewhere: the shard is not to count on it any more.
  void LoseRoom(Effects& out, std::uint64_t expects);
  // It was located and wants, and there is no memory for it after all: the Want is taken back.
  void Decline(Effects& out);
  // In place of Locate, once: a copy of this version is here, and these of its stripes are made here.
  // Receive comes next.
  void Adopt(const protocol::Located& version, StripeMask made_here);
  // There is memory, and a turn, for the version that was located: from these marks on. A leaf
  // keeps nothing of what it gets, and feeds nobody. Says Want, unless it wants already.
  void Receive(const StripeMarks& marks, bool leaf, Time now, Effects& out);
  // Its node fetches other objects, too: said with every Want, and question, from now on; and with
  // one more Want, if it has said that already.
  void Join(const StripeMarks& marks, Effects& out);
  // No more of it: nobody wants it, or it is complete. Step tells the rest as streams end.
  void Leave(const StripeMarks& marks, Effects& out);

  // --- what the shard says; false, or answered at once, where it is of no use any more. If it wants
  // now, Receive or Decline comes before the shard's next word: that may be a Grant.
  bool On(const Located& located, Effects& out);
  bool wants() const { return stage_ == Stage::kPreparing && located_ && located_->wanted != 0; }
  bool On(const InlineObject& object, Effects& out);
  // Another node hands bytes on (R83): of use if they answer the question that is open. The shard
  // hears that it is answered.
  bool OnHandedOn(std::uint64_t number, Effects& out);
  // Its Want waits in vain, and these are all bytes of the version (R15). True: of use here; its
  // streams end, and then these bytes are for what they have not brought. A leaf asks again, without
  // memory for the whole.
  bool OnGiven(const InlineObject& object, Effects& out);
  // Of the stripes that are not made here, those without a stream.
  StripeMask unfed() const;
  void On(const Grant& grant, const StripeMarks& marks, Effects& out);
  bool OnRecall(Version below);
  // Whether its wait ends by this: it answers the question that is open, or is about the version that
  // was located. An answer to an earlier question may come late (R69).
  bool Ends(const protocol::TargetAborted& aborted) const;
  void OnDeleted() { deleted_ = true; }
  // The reduction that makes the version is committed: that is as good as an END, on every stream.
  void OnCommitted() { end_seen_ = committed_ = true; }
  // It had lost this node, and knows nothing of its grants.
  void OnLost(Effects& out);

  // --- how streams end
  // Of several connections of this stream one has ended; perhaps it said END.
  void EndedInPart(const GrantId& grant, bool end_seen);
  void Ended(const GrantId& grant, Outcome outcome, Failure failure);

  // --- for the inventory: what each stripe is pulled from now, or else will be (R15)
  // The shard will know of no other grant: one that waits for the end of a stream is forgotten, and
  // what that stream brings is wanted once more when it has ended.
  std::vector<protocol::Upstream> TellUpstreams();

  // --- what is due, after any of these
  void Step(const StripeMarks& marks, Effects& out);
  // It is whole, and sealed: says so, or, of a leaf, that it wants nothing any more.
  void Complete(Effects& out);

  // --- its turn among the fetches of its node
  // Whoever others depend on waits for none.
  virtual bool GoesAtOnce(bool input, bool feeds) const { return input || feeds; }
  // Who gets nothing for a while perhaps waits for one that waits for its turn.
  virtual bool LendsTurn(std::uint64_t received_bytes, Time now);
  // When to ask that again, if nothing happens before.
  Time turn_kept_until() const { return received_at_ + kTurnKept; }
  // The reader of its window takes nothing of what lies ready, and holds up those who wait for the
  // window: they get it, and the reader starts over.
  virtual bool ReaderStalls(std::uint64_t ready_bytes, std::uint64_t read_bytes, Duration patience,
                            Time now);

  // --- answers
  bool locating() const { return stage_ == Stage::kLocating; }
  bool receiving() const { return stage_ == Stage::kReceiving; }
  bool leaf() const { return leaf_; }
  bool recalled() const { return recalled_; }
  bool deleted() const { return deleted_; }
  // Its last stream has ended, and every grant is closed.
  bool left() const { return stage_ == Stage::kLeft; }
  const std::optional<protocol::Located>& located() const { return located_; }
  bool pulls() const { return !streams_.empty(); }
  // For the inventory. A stream into a copy is told of beside the copy; the shard knows nothing of
  // a leaf's. A flight that was recalled asks anew: what it has does not count any more.
  std::optional<Want> OpenWant(const StripeMarks& marks) const;
  std::optional<protocol::Locate> OpenLocate(std::uint64_t expects) const;
  void AddTo(Digest& digest) const;

 protected:
  // One END speaks for the version, and all bytes are there. A connection that waits for an END of
  // its own is left, unless its source has said it on another: then it is about to come.
  virtual bool Whole(const StripeMarks& marks) const;

 private:
  // A fetch that gets nothing for so long lets another one go.
  static constexpr Duration kTurnKept = std::chrono::milliseconds(500);

  enum class Stage : std::uint8_t { kIdle, kLocating, kPreparing, kReceiving, kLeaving, kLeft };

  struct Stream {
    Grant grant;
    bool stopping = false;
    bool ending = false;  // in part
    std::optional<Outcome> outcome;
    Failure failure = Failure::kNone;
  };

  void AskAgain(Effects& out, std::uint64_t expects);
  void TakeAnswer(Effects& out);
  Stream* Find(const GrantId& grant);
  bool Brings(StripeMask stripes) const;
  static void Stop(Stream& stream, Effects& out);
  void CloseEnded(const StripeMarks& marks, Effects& out);
  void OpenDue(Effects& out);
  void FinishLeaving(const StripeMarks& marks, Effects& out);
  Want Wanting(const StripeMarks& marks) const;
  GrantClosed Closed(const Grant& grant, Outcome outcome, Failure failure,
                     const StripeMarks& marks) const;

  ObjectId object_;
  Stage stage_ = Stage::kIdle;
  Question question_;   // with the room that the shard may count on
  bool again_ = false;  // it has asked more than once
  std::optional<protocol::Located> located_;
  bool leaf_ = false;
  bool joint_ = false;
  bool recalled_ = false;  // a newer version exists: once more from the start
  bool deleted_ = false;
  bool complete_ = false;
  StripeMask made_here_ = 0;
  StripeMask want_after_ = 0;  // asks again when the streams that bring these have ended
  bool end_seen_ = false;      // END, on any stream, or what stands for it
  bool committed_ = false;     // that was said, or all bytes are given
  bool given_ = false;         // the latter: no stream is begun any more
  std::deque<Grant> told_;     // not yet begun
  std::vector<Stream> streams_;

  std::uint64_t received_ = 0;  // when last looked at
  Time received_at_{};          // when that grew
  std::uint64_t read_ = 0;      // by the reader of a window, when last looked at
  Time read_at_{};              // when that grew, or nothing more lay ready
};

}  // namespace hoplite::planner

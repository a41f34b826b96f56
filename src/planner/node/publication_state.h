// PublicationState: what a node decides about one Put, from reserved memory to an accepted, final
// copy (docs/protocol.md: R3, R4, R15, R17, R47).
//
//   large  Create, while the client writes ---> sealed ---.
//   small  the client writes ---> sealed: Create          '---> accepted, checksums of all: complete
//
// Decides: when the shard is told; what Advance, Seal and a caller that waits no longer are
// answered; when the copy is shown, final, or goes; what of a Put that ends early the shard has to
// hear. Is told: how far the client has written and the copy is, what the shard says, whether there
// is a session. Must never: have a copy shown before the shard accepted it, or leave a Create with
// the shard when its client was told that it failed. Knows no byte, checksum, memory or clock:
// node::Publication has these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <hoplite/result.h>

#include "base/layout.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// Of the bytes [0, prefix).
std::uint64_t WholeBlocks(const Layout& layout, std::uint64_t prefix_bytes);

class PublicationState {
 public:
  // What its node is to do, in this order.
  struct Effects {
    bool announce = false;  // its Create, with the bytes of a small object
    bool show = false;      // accepted: the copy takes the place of any older one
    bool seal = false;      // the copy is final, and the Put over
    std::vector<NodeEvent> say;
    bool withdraw = false;  // the Withdraw that was said is repeated until it is confirmed
    bool drop = false;      // the copy goes, and the Put is over
  };

  // attempt: never used twice by this node. small: its bytes go with its Create.
  PublicationState(const ObjectId& object, const Layout& layout, bool small, std::uint64_t attempt)
      : object_(object), layout_(layout), small_(small), attempt_(attempt) {}

  // --- its client
  // There is memory. in_session: what is said now is heard.
  void Begin(bool in_session, Effects& out);
  // Whether it may say that [0, prefix) is written, with so many checksums, after [0, written).
  Result<void> Advance(std::uint64_t written_bytes, std::uint64_t prefix_bytes,
                       std::uint64_t checksums) const;
  Result<void> Seal(std::uint64_t written_bytes, bool in_session, Effects& out);
  // Whoever waits for the end of Seal waits no longer. Accepted, only checksums are missing, which
  // nothing can undo.
  Result<void> StopWaiting(bool cancelled, Effects& out);
  void Abort(Effects& out);

  // --- what the shard says
  void Accept(Version version, Effects& out);
  // No, or the object was deleted, answered or not.
  void Refuse(Error error, Effects& out);
  // Versions below this one are void. A Create that is not answered yet will have its own answer.
  void Recall(Version below, Error error, Effects& out);

  // --- what is due, after Seal, Accept, or when checksums were made
  void Step(const StripeMarks& marks, Effects& out);

  // --- answers
  bool small() const { return small_; }
  std::uint64_t attempt() const { return attempt_; }
  bool accepted() const { return static_cast<bool>(version_); }
  Version version() const { return version_; }
  // Of its Seal; none: it is under way.
  const std::optional<Result<void>>& result() const { return result_; }
  // A new session is told what is open. True: its Create is said once more.
  bool Repeats();

 private:
  void Announce(bool in_session, Effects& out);

  const ObjectId object_;
  const Layout layout_;
  const bool small_;
  const std::uint64_t attempt_;
  bool announced_ = false;
  bool heard_ = false;  // in a session
  bool sealed_ = false;
  Version version_;  // none: not accepted
  std::optional<Result<void>> result_;
};

// Withdrawal: a Put of one object that was given up while the shard had not answered (R47). Until
// the shard confirms that it took that back, nothing that it says of a Create is believed, and no
// other begins.
class Withdrawal {
 public:
  void Begin(std::uint64_t attempt) { attempt_ = attempt; }
  // While it is open: to be repeated in each new session.
  const std::optional<std::uint64_t>& attempt() const { return attempt_; }
  bool open() const { return attempt_.has_value(); }
  // The shard said this of the object while it was open. True: it is the confirmation.
  bool Ends(const CreateRefused& refused);

 private:
  std::optional<std::uint64_t> attempt_;
};

}  // namespace hoplite::planner

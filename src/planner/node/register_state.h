// RegisterState: what a node decides about the registers of one shard that its clients have open
// (R90-R96).
//
//   clients open, read, write, wait ---> one word per register, with a number ---> the shard
//   what the register holds, and answers ---> whoever asked or waits
//
// Decides: what the node's word is, and when it is said; which call is under way, one for each
// register; what a wait is answered without asking. Is told: what clients want and when they go, what
// the shard says, and sessions. Must never: name another number in a write than its client did (R90);
// say that there is no writer by what was asked before the question (R96); or keep a claim that
// another followed (R96). Knows no session, client process or clock.
//
// One per shard of a node. A value type, not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/ids.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class RegisterState {
 public:
  // The node's own names: of one opening by a client, and of one call. Neither is used twice.
  using Handle = std::uint64_t;
  using Ticket = std::uint64_t;

  enum class Outcome : std::uint8_t {
    kEntry,     // what the register holds
    kWritten,   // it held this, which was written
    kConflict,  // it had another number, and holds this
    kNoWriter,  // it was claimed, and whoever claimed it last is gone; it holds this
    kLimit,     // the node has too many registers of this shard open
  };
  struct Answered {
    Ticket ticket = 0;
    Outcome outcome = Outcome::kEntry;
    RegisterContents entry;
    bool writer = false;
  };
  // What its node is to do. What is said while no session is open may be dropped: the next
  // inventory has it.
  struct Effects {
    std::vector<NodeEvent> say;
    std::vector<Answered> answer;
  };

  // --- clients

  void Open(Handle handle, const ObjectId& id, Effects& out);
  // Of an open handle. Its tickets are not answered any more.
  void Close(Handle handle, const ObjectId& id, Effects& out);
  // What the register holds after now.
  void Get(Handle handle, const ObjectId& id, Ticket ticket, Effects& out);
  void Write(Handle handle, const ObjectId& id, Ticket ticket, CompareAndSet write, Effects& out);
  // A later number than this; or that no writer is left of those that there were, unless only a
  // later number is waited for.
  void Changed(Handle handle, const ObjectId& id, Ticket ticket, Version after, bool only_later,
               Effects& out);
  // Nobody waits for this answer any more. A write may be done nevertheless.
  void GiveUp(const ObjectId& id, Ticket ticket, Effects& out);

  // --- what the shard says, and sessions

  void Hear(const RegisterNews& news, Effects& out);
  void SessionOpened();
  void SessionEnded();

  // --- answers

  // For Hello: the highest number that was given.
  std::uint64_t number() const { return number_; }
  // What an inventory says of the register; none: nothing.
  std::optional<RegisterUse> Inventory(const ObjectId& id);
  // The next ids, at most so many, that an inventory may have to speak of.
  std::vector<ObjectId> After(const std::optional<ObjectId>& id, std::size_t most) const;
  // The write by which the handle is the writer, as far as the node knows; none: it is not.
  Version ClaimOf(Handle handle, const ObjectId& id) const;
  // What the node heard last; null: it has not got it open.
  const RegisterContents* Known(const ObjectId& id) const;
  std::size_t size() const { return ids_.size(); }
  void AddTo(Digest& digest) const;

 private:
  struct Asked {
    Ticket ticket = 0;
    Handle handle = 0;
  };
  struct Waiting {
    Asked asked;
    Version after;
    bool only_later = false;
    std::uint64_t since = 0;  // calls with a higher number began later
  };
  struct AskedWrite {
    Asked asked;
    CompareAndSet write;
  };
  struct Id {
    std::map<Handle, Version> handles;  // and by which write each is the writer
    RegisterContents entry;
    bool writer = false;      // somebody is, by what was heard last
    std::uint64_t told = 0;   // the session in which the shard was told what the node knows
    std::uint64_t heard = 0;  // the session in which the shard said something
    std::deque<AskedWrite> writes;
    std::vector<Asked> reads;
    std::vector<Waiting> waits;
    // Under way: of the first write, if it is one. These reads came before it, and its answer is
    // theirs, too.
    std::optional<RegisterCall> call;
    std::vector<Asked> reading;
  };

  void AnswerCall(Id& id, const RegisterNews& news, Effects& out);
  // `answered`: the number of a call whose answer has come; 0: none has.
  static void AnswerWaits(Id& id, std::uint64_t answered, Effects& out);
  // Whoever claimed it before is not its writer any more. True: somebody was.
  static bool EndClaims(Id& id);
  // Another call is under way now, if there is need of one. True: it is.
  bool Begin(Id& id);
  bool AsksForWriter(const Id& id) const;
  RegisterUse Word(const ObjectId& name, const Id& id);
  void Say(const ObjectId& name, Id& id, Effects& out);
  static void Answer(const Id& id, Ticket ticket, Outcome outcome, Effects& out);
  static void RefuseAll(Id& id, Effects& out);
  // Everything that this is true of is forgotten. True: of the call under way, too.
  template <typename Whose>
  static bool Forget(Id& id, Whose whose);
  bool open_session() const { return session_ % 2 == 1; }

  std::uint64_t number_ = 0;
  std::uint64_t session_ = 0;  // counts them; odd: one is open
  std::map<ObjectId, Id> ids_;
};

}  // namespace hoplite::planner

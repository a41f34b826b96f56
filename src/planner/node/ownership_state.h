// OwnershipState: what a node decides about the ids of one shard that its clients own
// (docs/protocol.md: R50-R57).
//
//   clients own and disown ---> one bit per id, each change with a number ---> the shard
//   the shard's answer to the newest change of an id ---> whoever waits for it
//
// A client owns an id from the answer to its Own (or its owned Put) on, until it disowns, closes, or
// a grace is over after its process died: that of its last Own of the id, or the orphan grace. The node owns an id while a client does, waits to,
// or has died lately.
//
// Decides: when the node's bit of an id changes; which client is answered what, and whether without
// asking the shard; what an inventory says of owners; for how long the node remembers that it owned
// an id. Is told: what clients want and when they go, what the shard says, sessions, and the time,
// always by NowSinceBoot (base/clock.h): it counts the time that the machine was suspended. Must
// never: answer `ok` to a client while the shard may have deleted the id; believe an answer to any
// but the newest change; take back a change of the bit while an owned Put of that id is not answered.
// Knows no session, client process or copy.
//
// One per shard of a node. A value type, not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/time.h"
#include "planner/words/grace.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class OwnershipState {
 public:
  using Client = std::uint64_t;  // the node's own name of a client, never used twice
  using Ticket = std::uint64_t;  // the node's own name of one call of Own, never used twice

  struct Answered {
    Ticket ticket = 0;
    OwnerResult result = OwnerResult::kOk;
  };
  // What its node is to do. What is said while no session is open may be dropped: the next
  // inventory has it.
  struct Effects {
    std::vector<NodeEvent> say;
    std::vector<Answered> answer;
  };
  // As the shard's Welcome has them.
  struct Terms {
    Duration lease{0};
    Duration orphan_grace = std::chrono::seconds(30);
    Duration tombstone = std::chrono::seconds(60);
  };

  // --- clients

  // The client wants to own the id: `ticket` is answered once, now or later, unless GiveUp comes
  // first. `vouched`: as DirectoryClient::vouched, none without a session. A client may ask again
  // for what it owns: its last `grace` counts.
  void Own(Client client, const ObjectId& id, Ticket ticket, Grace grace, Time now,
           std::optional<Time> vouched, Effects& out);
  // Whoever waits for that answer waits no longer: nothing is answered, and the client owns what it
  // did before.
  void GiveUp(Client client, const ObjectId& id, Ticket ticket, Time now, Effects& out);
  // The client no longer owns the id. False: it did not, which changes nothing.
  bool Disown(Client client, const ObjectId& id, Time now, Effects& out);
  // It said goodbye: it owns nothing any more. Of many ids Wake, which is due then, does the rest.
  void Closed(Client client, Time now, Effects& out);
  // Its process ended without: what it owns stays owned for its grace. Nothing of it is answered any
  // more.
  void Died(Client client, Time now);

  // --- an owned Put, or reduction: the request has the number, and tells the bit by itself

  // Its number. Until Accepted or Refused it is open; the same number is in each repetition of the
  // request.
  std::uint64_t Asks(Client client, const ObjectId& id, Grace grace);
  // The shard accepted it in the open session: the client owns the id, if it is still there.
  void Accepted(const ObjectId& id, std::uint64_t number, Time now, Effects& out);
  // It was refused, or taken back and that confirmed: it changed nothing.
  void Refused(const ObjectId& id, std::uint64_t number, Time now, Effects& out);

  // --- what the shard says

  void Hear(const OwnerAnswer& answer, Time now, Effects& out);
  // It was deleted: nobody owns it. A change that the shard has not answered yet has an answer of its
  // own: it may have come after the end of that tombstone.
  void Deleted(const ObjectId& id, Effects& out);

  // --- sessions and time

  void SessionOpened(const Terms& terms);
  void SessionEnded();
  // When Wake has something to do, perhaps at once; kNever: nothing waits for a time.
  Time next() const;
  void Wake(Time now, Effects& out);

  // --- answers

  // For Hello: the highest number that was given.
  std::uint64_t number() const { return number_; }
  // What an inventory says of the id; none: nothing.
  std::optional<Owned> Inventory(const ObjectId& id, Time now) const;
  // The next ids, at most so many, that there may be something to say of in an inventory.
  std::vector<ObjectId> After(const std::optional<ObjectId>& id, std::size_t most) const;
  // Whether the client owns the id, acknowledged.
  bool Owns(Client client, const ObjectId& id) const;
  std::size_t owned_ids() const { return owned_; }
  // No grace counts for longer.
  Duration longest_grace() const { return terms_.tombstone; }
  void AddTo(Digest& digest) const;

 private:
  // So many ids change in one step: a client's many must not hold up the node.
  static constexpr std::size_t kAtOnce = 1000;

  // What a client has to do with an id that it owns, or asks to.
  struct Part {
    Grace grace;
    Time until = kNever;  // once the client died: the end of that
  };
  struct Asked {                   // an owned request that is not answered
    std::optional<Client> client;  // none: it is gone
    Grace grace;
  };
  struct Holding {             // one client's part in an id
    bool granted = false;      // it was answered `ok`
    std::set<Ticket> tickets;  // these wait for the shard
    bool idle() const { return !granted && tickets.empty(); }
  };
  struct Id {
    std::map<Client, Holding> clients;
    std::map<std::uint64_t, Asked> asked;  // by number
    std::uint64_t number = 0;              // of the bit's last change, or of its last repetition
    bool own = false;                      // the bit
    Grace grace;                           // that was told with it: the longest of its clients
    std::uint64_t told = 0;  // the session in which `number` was answered `ok`; 0: in none
    Time noted_until;        // so long an inventory says that it was owned
  };
  using Ids = std::map<ObjectId, Id>;

  // The bit goes with the last who owns. The id may be forgotten then.
  void Settle(const ObjectId& id, Time now, Effects& out);
  // The longest grace of its clients.
  Grace GraceOf(const ObjectId& id, const Id& entry) const;
  GraceTerms graces() const { return {terms_.orphan_grace, terms_.tombstone}; }
  // The bit is `own`, with a new number.
  void Say(const ObjectId& id, Id& entry, bool own, Effects& out);
  // The client's part in its ids is over, in at most so many; `most` becomes what is left of that.
  void End(Client client, std::size_t& most, Time now, Effects& out);
  void EndOne(Client client, ObjectId id, Time now, Effects& out);
  void Drop(Client client, const ObjectId& id, Time now, Effects& out);
  static bool Concerns(const Id& entry, Client client);
  // Nobody owns the id here any more; who waits is answered so.
  void EndAll(const ObjectId& id, Id& entry, OwnerResult why, Effects& out);
  void Unlink(Client client, const ObjectId& id);
  void EraseIfIdle(Ids::iterator entry);

  Terms terms_;
  std::uint64_t number_ = 0;
  std::uint64_t session_ = 0;  // counts them; odd: one is open
  Ids ids_;
  std::size_t owned_ = 0;                                // ids whose bit is set
  std::map<Client, std::map<ObjectId, Part>> concern_;   // ids that a client owns, or asks to
  std::map<Client, Time> closed_;                        // clients that own more than was ended yet
  std::set<std::tuple<Time, Client, ObjectId>> lapses_;  // of clients that died
  std::set<std::pair<Time, ObjectId>> notes_;            // ids that are remembered as owned
};

}  // namespace hoplite::planner

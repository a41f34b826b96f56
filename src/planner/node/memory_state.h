// MemoryState: who gets memory of a node, and what others are asked for so that there is some
// (docs/protocol.md: R18, R45).
//
//   a want comes --> its turn --> it looks --> there is room: it leaves the line
//         ^                           |
//         '-- a release, an answer ---'-- none: the shard is asked about copies, a lender for its
//                                         memory
//
// Decides: who looks, and when (MemoryQueue); about which copies the shard is asked; which lender
// gives back; what becomes of a copy that the shard has spoken of; how large a window is. Is told:
// who wants how much, how looks end, what is free, which copies could go, who lends, answers of the
// shard and the ends of its sessions. Must never: let a copy go that the shard did not release, ask
// twice what is not answered, or ask for anything while there is room. Knows no byte and no store:
// node::MemoryBroker has these. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <hoplite/object_id.h>

#include "base/layout.h"
#include "planner/node/memory_queue.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::planner {

class MemoryState {
 public:
  using Place = MemoryQueue::Place;

  // Who holds memory for an operation and may come to do without it (R45).
  class Lender {
   public:
    virtual ~Lender() = default;
    // Whether it can do without it now, if another part of `operation` waits for memory, or, for
    // no operation, if anybody does.
    virtual bool Spares(const std::optional<ObjectId>& operation) const = 0;
    // Soon; the memory comes back as any other.
    virtual void GiveBack() = 0;
  };

  // What its node is to do, in this order.
  struct Effects {
    std::vector<protocol::EvictAsk> ask;  // the shard, whether these may go
    Lender* give_back = nullptr;          // one at a time: whoever waits looks again when it has
    std::vector<Place> wake;              // these look again
  };

  // --- who wants memory. A want that could never be served is none of these.
  // operation: of which it is a part. free_bytes, here and below: of the store, now.
  Place Enter(std::uint64_t bytes, const std::optional<ObjectId>& operation,
              std::uint64_t free_bytes);
  // Whether it looks now. Out of turn it waits; but memory of its own operation may come back all
  // the same.
  bool MayLook(Place place, Effects& out);
  // It looked, and has its memory.
  void Found(Place place, std::uint64_t free_bytes, Effects& out);
  // It looked in vain. movable: copies without which it would find room, the oldest first.
  void FoundNone(Place place, const std::vector<protocol::EvictAsk>& movable,
                 std::uint64_t free_bytes, Effects& out);
  // It has its memory, or does without.
  void Leave(Place place, std::uint64_t free_bytes, Effects& out);

  // --- who may give some back, in the order in which they got it
  std::uint64_t Lends(Lender& lender);
  void LendsNoMore(std::uint64_t number) { lenders_.erase(number); }

  // --- what happens
  // Memory was released, or may have been.
  void OnSpace(std::uint64_t free_bytes, Effects& out) { out.wake = line_.Wake(free_bytes); }
  // A second has passed.
  void OnTick(std::uint64_t free_bytes, Effects& out) { out.wake = line_.Tick(free_bytes); }
  // present: the version of the object that is here. The last complete copy is kept.
  enum class Fate : std::uint8_t { kNone, kGoes, kStays };
  Fate On(const protocol::EvictAnswer& answer, const std::optional<Version>& present);
  // A session ended: questions that were under way will not be answered.
  void ForgetQuestions() { asked_.clear(); }

  // --- answers
  bool waited_for() const { return line_.size() > 0; }
  // What the first in line wants; 0: nobody waits.
  std::uint64_t first_bytes() const { return line_.first_bytes(); }
  // Copies that would go if their shards allowed it, and have not answered.
  std::size_t questions() const { return asked_.size(); }
  // Whether somebody keeps what it can do without while a part of the same operation waits: for
  // tests, which know for how long.
  bool hoarded() const;
  // Of a window on an object that is larger than the store.
  static std::uint64_t WindowBytes(const Layout& layout, std::uint64_t capacity_bytes);

 private:
  Lender* Spare(const std::optional<ObjectId>& operation) const;

  MemoryQueue line_;
  std::map<Place, std::optional<ObjectId>> operations_;  // of those who wait
  std::set<ObjectId> asked_;                             // about these, and not answered
  std::map<std::uint64_t, Lender*> lenders_;             // in the order of their reservations
  std::uint64_t lent_ = 0;                               // numbers them
};

}  // namespace hoplite::planner

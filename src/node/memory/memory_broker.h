// MemoryBroker: finds room for objects, with the directory's permission to evict.
//
// MemoryState decides who looks for room and whom others ask for it; this looks into the store,
// speaks with the shards, and wakes those who wait. Must never: drop a copy that the directory did
// not release. On the node's main loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "directory/directory_client.h"
#include "net/signal.h"
#include "node/memory/rooms.h"
#include "node/memory/spiller.h"
#include "planner/node/memory_state.h"
#include "store/object_store.h"

namespace hoplite::node {

class MemoryBroker {
 public:
  using Lender = planner::MemoryState::Lender;

  MemoryBroker(store::ObjectStore& store, directory::DirectoryClient& directory,
               const Rooms::Limits& rooms = {});

  class Loan {
   public:
    Loan(MemoryBroker& memory, Lender& lender)
        : memory_(memory), number_(memory.state_.Lends(lender)) {}
    ~Loan() { memory_.state_.LendsNoMore(number_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    MemoryBroker& memory_;
    const std::uint64_t number_;
  };

  bool fits_ever(std::uint64_t bytes) const { return store_.FitsEver(bytes); }
  // Of an object that does not, which says both sizes.
  Error TooLarge(const ObjectId& object, const Layout& layout) const;
  std::uint64_t WindowBytes(const Layout& layout) const;

  // One who waits for memory, in line with others from its first try until it has some or goes. Its
  // signal is notified when it is to try again; out of turn it is told that there is no room.
  class Waiter {
   public:
    Waiter(MemoryBroker& memory, net::Signal& signal,
           const std::optional<ObjectId>& operation = std::nullopt)
        : memory_(memory), signal_(signal), operation_(operation) {}
    ~Waiter() { Leave(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Room for a whole object, unlisted. resource_exhausted with fits_ever(): what can help was
    // asked for; wait for the signal and try again.
    Result<store::CopyPtr> Try(const ObjectId& object, const Layout& layout,
                               const std::string& metadata);
    // The same for a window on an object that never fits.
    Result<store::CopyPtr> TryWindow(const ObjectId& object, const Layout& layout,
                                     const std::string& metadata);
    void Leave();

   private:
    bool HasTurn(std::uint64_t bytes);
    template <typename Look>
    Result<store::CopyPtr> Looked(std::uint64_t bytes, Look look);

    MemoryBroker& memory_;
    net::Signal& signal_;
    const std::optional<ObjectId> operation_;
    std::optional<planner::MemoryState::Place> place_;
  };

  // Room for whoever asks where an object is; null: none is free, or somebody waits for memory. It
  // is lost to whoever needs it: then on_lost.
  std::unique_ptr<Rooms::Room> TakeRoom(Time now, std::function<void()> on_lost);

  // For whoever waits for so much: "no memory is free for its 500 bytes: 900 of 1000 bytes are in
  // use: 800 bytes by objects that were put or reduced here; clients keep: 100 bytes (pid 12)".
  std::string WhyNone(std::uint64_t bytes);
  // Gives the last part of that; empty: nothing.
  void AskOfClients(std::function<std::string()> kept) { kept_by_clients_ = std::move(kept); }

  // Copies may go to a disk from now on.
  void SpillWith(Spiller& spiller) { spiller_ = &spiller; }
  // Null: none may.
  Spiller* spiller() const { return spiller_; }
  // Until when whoever waits for room, and would give up after `patience`, waits on: the disk makes
  // room. None: it does not.
  std::optional<Time> DiskWorksUntil(Duration patience, Time now) const;
  // The same in short: it did so within the last second.
  bool disk_works() const;

  // What is used, but for what its holder merely asks with.
  std::uint64_t used_bytes() const { return store_.usage().used_bytes - rooms_.bytes(); }

  // The directory answered an EvictAsk.
  void OnEvictAnswer(const protocol::EvictAnswer& answer);
  void ForgetQuestions() { state_.ForgetQuestions(); }
  void OnSpace();
  void Tick();  // every second
  // As MemoryState's.
  bool hoarded() const { return state_.hoarded(); }
  bool waited_for() const { return state_.waited_for(); }
  // Whoever is first in line could be helped by a write, and none is under way: for tests, too.
  bool leaves_disk_idle() const {
    return spiller_ != nullptr && waited_for() && spiller_->idle(state_.first_bytes());
  }

 private:
  const std::string& UseInWords();
  void FoundNone(planner::MemoryState::Place place, std::uint64_t bytes,
                 planner::MemoryState::Effects& effects);
  void Carry(const planner::MemoryState::Effects& effects);
  std::vector<protocol::EvictAsk> Movable(const std::vector<ObjectId>& copies) const;
  std::uint64_t free_bytes() const;

  store::ObjectStore& store_;
  directory::DirectoryClient& directory_;
  planner::MemoryState state_;
  Rooms rooms_;
  Spiller* spiller_ = nullptr;
  std::map<planner::MemoryState::Place, net::Signal*> waiting_;
  std::function<std::string()> kept_by_clients_;
  std::string use_in_words_;  // as of words_at_; thousands may end at one deadline
  Time words_at_ = Time::min();
};

}  // namespace hoplite::node

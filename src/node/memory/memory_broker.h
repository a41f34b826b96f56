// MemoryBroker: finds room for objects, with the directory's permission to evict.
//
// Decides: which relayed copies to ask the directory about; who looks first, by MemoryQueue. Is
// told: requests, answers, freed memory. Must never: drop a copy that the directory did not
// release. On the node's main loop only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "directory/directory_client.h"
#include "net/signal.h"
#include "node/memory/memory_queue.h"
#include "store/object_store.h"

namespace hoplite::node {

class MemoryBroker {
 public:
  MemoryBroker(store::ObjectStore& store, directory::DirectoryClient& directory);

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
  class Loan {
   public:
    Loan(MemoryBroker& memory, Lender& lender) : memory_(memory), number_(memory.lent_++) {
      memory_.lenders_.emplace(number_, &lender);
    }
    ~Loan() { memory_.lenders_.erase(number_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    MemoryBroker& memory_;
    const std::uint64_t number_;
  };

  // Room for a whole object, unlisted. resource_exhausted with fits_ever(): evictions were asked
  // for where that can help, and one who can do without is asked to give his back; wait for a
  // notification (Waiter) and try again.
  Result<store::CopyPtr> Try(const ObjectId& object, const Layout& layout,
                             const std::string& metadata,
                             const std::optional<ObjectId>& operation = std::nullopt);
  // The same, of so many bytes, for a window on an object that never fits.
  Result<store::CopyPtr> TryWindow(const ObjectId& object, const Layout& layout,
                                   const std::string& metadata);
  std::uint64_t WindowBytes(const Layout& layout) const;
  bool fits_ever(std::uint64_t bytes) const { return store_.FitsEver(bytes); }

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

    Result<store::CopyPtr> Try(const ObjectId& object, const Layout& layout,
                               const std::string& metadata);
    Result<store::CopyPtr> TryWindow(const ObjectId& object, const Layout& layout,
                                     const std::string& metadata);
    void Leave();

   private:
    bool HasTurn(std::uint64_t bytes);
    Result<store::CopyPtr> OutOfTurn();
    Result<store::CopyPtr> Looked(Result<store::CopyPtr> found);

    MemoryBroker& memory_;
    net::Signal& signal_;
    const std::optional<ObjectId> operation_;
    std::optional<MemoryQueue::Place> place_;
  };

  // The directory answered an EvictAsk.
  void OnEvictAnswer(const planner::EvictAnswer& answer);
  // The session was lost: questions that were under way will not be answered.
  void ForgetQuestions() { asked_.clear(); }
  void OnSpace() { Wake(line_.Wake(free_bytes())); }
  void Tick() { Wake(line_.Tick(free_bytes())); }  // every second
  // Whether somebody keeps what it can do without while a part of the same operation waits: for
  // tests, which know for how long.
  bool hoarded() const;
  bool waited_for() const { return line_.size() > 0; }

 private:
  void AskForEvictions(std::uint64_t bytes);
  void AskLenders(const std::optional<ObjectId>& operation);
  void Wake(const std::vector<MemoryQueue::Place>& places);
  std::uint64_t free_bytes() const;

  store::ObjectStore& store_;
  directory::DirectoryClient& directory_;
  std::set<ObjectId> asked_;
  MemoryQueue line_;
  struct Waiting {
    net::Signal* signal;
    std::optional<ObjectId> operation;
  };
  std::map<MemoryQueue::Place, Waiting> waiting_;
  std::map<std::uint64_t, Lender*> lenders_;  // in the order of their reservations
  std::uint64_t lent_ = 0;
};

}  // namespace hoplite::node

// Memory: finds room for objects, with the directory's permission to evict.
//
// Decides: which relayed copies to ask the directory about. Is told: requests, answers, freed
// memory. Must never: drop a copy that the directory did not release. On the node's main loop only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "directory/directory_client.h"
#include "net/signal.h"
#include "store/object_store.h"

namespace hoplite::node {

class Memory {
 public:
  Memory(store::ObjectStore& store, directory::DirectoryClient& directory);

  // Room for a whole object, unlisted. resource_exhausted with fits_ever(): evictions were asked
  // for where that can help; wait for a notification (Waiter) and try again.
  Result<store::CopyPtr> Try(const ObjectId& object, const Layout& layout,
                             const std::string& metadata);
  // The same, of so many bytes, for a window on an object that never fits.
  Result<store::CopyPtr> TryWindow(const ObjectId& object, const Layout& layout,
                                   const std::string& metadata);
  std::uint64_t WindowBytes(const Layout& layout) const;
  bool fits_ever(std::uint64_t bytes) const { return store_.FitsEver(bytes); }

  // While it lives, its signal is notified whenever memory came back.
  class Waiter {
   public:
    Waiter(Memory& memory, net::Signal& signal) : memory_(memory), number_(memory.waited_++) {
      memory_.waiters_.emplace(number_, &signal);
    }
    ~Waiter() { memory_.waiters_.erase(number_); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    Memory& memory_;
    const std::uint64_t number_;
  };

  // The directory answered an EvictAsk.
  void OnEvictAnswer(const planner::EvictAnswer& answer);
  // The session was lost: questions that were under way will not be answered.
  void ForgetQuestions() { asked_.clear(); }
  void OnSpace();

 private:
  void AskForEvictions(std::uint64_t bytes);

  store::ObjectStore& store_;
  directory::DirectoryClient& directory_;
  std::set<ObjectId> asked_;
  std::map<std::uint64_t, net::Signal*> waiters_;  // in the order of their coming
  std::uint64_t waited_ = 0;                       // numbers them
};

}  // namespace hoplite::node

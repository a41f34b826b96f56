// Memory: finds room for objects, with the directory's permission to evict.
//
// Decides: which relayed copies to ask the directory about; who looks first, by MemoryLine. Is
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
#include "node/memory_line.h"
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

  // One who waits for memory, in line with others from its first try until it has some or goes. Its
  // signal is notified when it is to try again; out of turn it is told that there is no room.
  class Waiter {
   public:
    Waiter(Memory& memory, net::Signal& signal) : memory_(memory), signal_(signal) {}
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
    Result<store::CopyPtr> Looked(Result<store::CopyPtr> found);

    Memory& memory_;
    net::Signal& signal_;
    std::optional<MemoryLine::Place> place_;
  };

  // The directory answered an EvictAsk.
  void OnEvictAnswer(const planner::EvictAnswer& answer);
  // The session was lost: questions that were under way will not be answered.
  void ForgetQuestions() { asked_.clear(); }
  void OnSpace() { Wake(line_.Wake(free_bytes())); }
  void Tick() { Wake(line_.Tick(free_bytes())); }  // every second

 private:
  void AskForEvictions(std::uint64_t bytes);
  void Wake(const std::vector<MemoryLine::Place>& places);
  std::uint64_t free_bytes() const;

  store::ObjectStore& store_;
  directory::DirectoryClient& directory_;
  std::set<ObjectId> asked_;
  MemoryLine line_;
  std::map<MemoryLine::Place, net::Signal*> signals_;
};

}  // namespace hoplite::node

// Holdings: the objects that one process holds at this node, over all its clients: those that it put,
// until they are unlisted, and those that it reads, whoever put them.
//
// Decides: whether one more is within the quota. Is told: which copies the process made and pins; what
// it is given for each ends the count by going. Must never: count an object twice, however often it is
// held. What a process left behind counts for nobody. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include <sys/types.h>

#include <hoplite/result.h>

#include "base/mutex.h"
#include "store/copy.h"
#include "store/object_store.h"

namespace hoplite::node {

// Of each process; 0: no limit.
struct Quota {
  std::uint64_t bytes = 0;
  std::uint64_t objects = 0;
};

class Holdings : public std::enable_shared_from_this<Holdings> {
 public:
  struct Use {
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0;
    std::uint64_t pinned_bytes = 0;  // of those that it reads or writes now
  };

  // pid: 0: of another container, not known. began: as ProcessBegin.
  Holdings(pid_t pid, std::uint64_t began, Quota quota) : pid_(pid), began_(began), quota_(quota) {}
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;

  pid_t pid() const { return pid_; }
  std::uint64_t began() const { return began_; }
  Use use() const;

  // Whether an object of so many bytes may come to what it holds.
  //   resource_exhausted  not within the quota: how much it holds, and what helps
  Result<void> Allow(std::uint64_t bytes) const;
  // A pin of the copy that counts while it lives. The same errors.
  Result<store::CopyPtr> Pin(const store::CopyPtr& copy);
  // The process made it: it counts while it is listed, or being made. The same errors.
  Result<void> Make(const store::CopyPtr& copy);

 private:
  struct Count {
    std::size_t holds = 0;  // pins, and one if the process made it
    std::size_t pins = 0;
  };
  enum class As : std::uint8_t { kMade, kPinned };
  class Hold;

  Result<std::shared_ptr<Hold>> Take(const store::CopyPtr& copy, As as);
  Result<void> AllowLocked(std::uint64_t bytes) const HOPLITE_REQUIRES(mutex_);
  void Drop(std::uint64_t copy, std::uint64_t bytes, As as);

  const pid_t pid_;
  const std::uint64_t began_;
  const Quota quota_;
  mutable Mutex mutex_;
  // By the copies' numbers: on a disk or not, it is the same object.
  std::unordered_map<std::uint64_t, Count> held_ HOPLITE_GUARDED_BY(mutex_);
  Use use_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node

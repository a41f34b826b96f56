// Pending: a request whose answer is still to come, and how threads wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <hoplite/future.h>
#include <hoplite/result.h>

#include "base/mutex.h"
#include "base/time.h"
#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

namespace local = ::hoplite::v1::local;

class Waker;

// Settled once: by the node's answer, or by the requester who gives up. Thread-safe.
class Pending {
 public:
  // count: how many things its answer may make: the first has its id, the others those that follow.
  explicit Pending(std::uint64_t id, std::uint32_t count = 1) : id_(id), count_(count) {}

  std::uint64_t id() const { return id_; }
  std::uint32_t count() const { return count_; }
  // False if it was settled before.
  bool Settle(Result<local::Answer> outcome);
  bool settled() const;
  // Only when settled: it never changes again, and so needs no lock.
  const Result<local::Answer>& outcome() const HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) {
    return *outcome_;
  }

 private:
  friend std::optional<std::size_t> WaitForAny(std::span<Pending* const>, Time);
  // True if it is settled already: then the waker is not kept.
  bool AddWaker(Waker* waker);
  void RemoveWaker(Waker* waker);

  const std::uint64_t id_;
  const std::uint32_t count_;
  mutable Mutex mutex_;
  std::optional<Result<local::Answer>> outcome_ HOPLITE_GUARDED_BY(mutex_);
  std::vector<Waker*> wakers_ HOPLITE_GUARDED_BY(mutex_);
};

using PendingPtr = std::shared_ptr<Pending>;

// Sleeps until one is settled: the lowest index that is; none at the deadline, and where the thread
// is interrupted.
std::optional<std::size_t> WaitForAny(std::span<Pending* const> pendings, Time deadline);
bool WaitFor(Pending& pending, Time deadline);

// kForever becomes kNever; zero, and what is negative, is now.
Time DeadlineAfter(std::chrono::milliseconds timeout);
// The other way round; zero when it has passed.
std::chrono::milliseconds Left(Time deadline);

}  // namespace hoplite::client

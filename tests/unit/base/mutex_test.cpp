#include "base/mutex.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace hoplite {
namespace {

using std::chrono::milliseconds;

TEST(Condition, AWaitEndsAtItsDeadline) {
  Mutex mutex;
  Condition changed;
  const Time deadline = Now() + milliseconds(20);
  const MutexLock lock(mutex);
  while (changed.WaitUntil(mutex, deadline)) {
  }
  EXPECT_GE(Now(), deadline);
}

TEST(Condition, AWaitWithoutADeadlineEndsWhenItIsNotified) {
  struct {
    Mutex mutex;
    Condition changed;
    bool there HOPLITE_GUARDED_BY(mutex) = false;
  } shared;
  const std::jthread other([&shared] {
    const MutexLock lock(shared.mutex);
    shared.there = true;
    shared.changed.NotifyAll();
  });
  const MutexLock lock(shared.mutex);
  while (!shared.there) EXPECT_TRUE(shared.changed.WaitUntil(shared.mutex, kNever));
}

TEST(TimedMutex, IsGivenUpOnAtTheDeadline) {
  TimedMutex mutex;
  const TimedMutexLock lock(mutex);
  std::jthread([&mutex] {
    const Time deadline = Now() + milliseconds(20);
    const bool had = mutex.LockBefore(deadline);
    EXPECT_FALSE(had);
    EXPECT_GE(Now(), deadline);
    if (had) mutex.Unlock();
  }).join();
}

}  // namespace
}  // namespace hoplite

#include "client/forks.h"

#include <vector>

#include <pthread.h>

#include "base/mutex.h"

namespace hoplite::client {
namespace {

struct Listening {
  Mutex mutex;  // held during a fork, in both processes
  std::vector<Forks::Listener*> all HOPLITE_GUARDED_BY(mutex);
};

// Never destroyed: processes fork until they have ended.
Listening& listening() {
  static Listening& one = *new Listening;
  return one;
}

void Before() HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) {
  listening().mutex.Lock();
  for (Forks::Listener* listener : listening().all) listener->BeforeFork();
}

void After() HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) {
  for (Forks::Listener* listener : listening().all) listener->AfterFork();
  listening().mutex.Unlock();
}

void InChild() HOPLITE_THREAD_SAFETY(no_thread_safety_analysis) {
  for (Forks::Listener* listener : listening().all) listener->InChild();
  listening().all.clear();
  listening().mutex.Unlock();
}

}  // namespace

Result<void> Forks::Add(Listener& listener) {
  static const int failure = ::pthread_atfork(&Before, &After, &InChild);
  if (failure != 0) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted, "no memory left to be told when this process forks"));
  }
  const MutexLock lock(listening().mutex);
  listening().all.push_back(&listener);
  return {};
}

void Forks::Remove(Listener& listener) {
  const MutexLock lock(listening().mutex);
  std::erase(listening().all, &listener);
}

}  // namespace hoplite::client

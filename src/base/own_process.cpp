#include "base/own_process.h"

#include <atomic>

#include <pthread.h>

namespace hoplite {
namespace {

std::atomic<unsigned> forks = 0;  // changes in a child, before anybody else runs there

}  // namespace

unsigned OwnProcess::Forks() {
  [[maybe_unused]] static const int counted =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace hoplite

// Nobody spins: what a whole cluster costs while every client waits.
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using namespace std::chrono_literals;

std::chrono::microseconds ProcessorTime() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

TEST(Waiting, CostsNoProcessor) {
  constexpr std::size_t kNodes = 8;
  testing::Cluster cluster({.nodes = kNodes, .memory_bytes = 1_MiB});
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 0; i < kNodes; ++i) {
    waiting.push_back(cluster.client(i).GetAsync(ObjectId::FromName("never"), {.timeout = 60s}));
  }
  constexpr auto kTime = 2000ms;
  const auto before = ProcessorTime();
  std::this_thread::sleep_for(kTime);
  // Below 1 % of a core for each node, its client, and its share of the directory.
  EXPECT_LT(ProcessorTime() - before, kTime * kNodes / 100);
  for (auto& future : waiting) future.Cancel();
}

}  // namespace
}  // namespace hoplite

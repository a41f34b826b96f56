#include "planner/node/memory_queue.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/units.h"
#include "node/memory/memory_broker.h"
#include "store/object_store.h"
#include "testing/no_directory.h"

namespace hoplite::node {
namespace {

using Place = planner::MemoryQueue::Place;
using Places = std::vector<Place>;

// Waits until it has its memory, and counts its tries.
struct Caller {
  Caller(asio::io_context& loop, MemoryBroker& memory) : changed(loop), waiter(memory, changed) {}

  net::Task<void> Wait(ObjectId id, std::uint64_t bytes, std::size_t& looks) {
    while (!copy) {
      ++looks;
      auto found = waiter.Try(id, Layout::For(bytes), "");
      if (found) {
        copy = std::move(*found);
      } else {
        co_await changed.Wait();
      }
    }
  }

  net::Signal changed;
  MemoryBroker::Waiter waiter;
  store::CopyPtr copy;
};

// After each release two callers look, however many wait: the one that it helps, and the one that
// is first afterwards.
TEST(MemoryQueue, AReleaseCostsALookOrTwoHoweverManyWait) {
  constexpr std::size_t kCallers = 2000;
  constexpr std::uint64_t kSize = 64_KiB;
  asio::io_context loop;
  testing::NoDirectory directory;
  store::ObjectStore store(store::CreateHeapSegment(4 * kSize), [] {});
  MemoryBroker memory(store, directory);
  std::vector<std::unique_ptr<Caller>> callers;
  std::size_t looks = 0;
  for (std::size_t i = 0; i < kCallers; ++i) {
    callers.push_back(std::make_unique<Caller>(loop, memory));
    const ObjectId id = ObjectId::FromName(std::to_string(i));
    asio::co_spawn(loop, callers[i]->Wait(id, kSize, looks), asio::detached);
  }
  loop.poll();
  EXPECT_EQ(looks, kCallers) << "each once, to begin with";
  for (std::size_t next = 0; next < kCallers; ++next) {
    ASSERT_TRUE(callers[next]->copy) << "in the order of their coming: " << next;
    callers[next]->copy.reset();
    memory.OnSpace();
    memory.OnSpace();  // an unpin says so, too
    loop.restart();
    loop.poll();
  }
  EXPECT_LE(looks, 4 * kCallers);
}

TEST(MemoryQueue, SmallOnesPassUntilAsMuchHasPassedAsTheFirstWants) {
  planner::MemoryQueue line;
  const Place large = line.Enter(100, 0);
  line.Failed(large, 0);
  std::uint64_t passed = 0;
  for (int i = 0; i < 1000; ++i) {
    const Place small = line.Enter(10, 10);
    const bool passes = line.MayLook(small);
    if (passes) {
      line.Served(small);
      passed += 10;
    }
    line.Leave(small, 10);
  }
  EXPECT_EQ(passed, 100u);
}

TEST(MemoryQueue, AClosedLineOpensAgainSoThatOneThatCanNotBeHelpedHoldsNobodyUp) {
  planner::MemoryQueue line;
  const Place large = line.Enter(100, 0);
  line.Failed(large, 0);
  const Place first = line.Enter(100, 100);
  EXPECT_FALSE(line.MayLook(first)) << "the one before it may fit, too";
  const Place small = line.Enter(50, 60);
  ASSERT_TRUE(line.MayLook(small));
  line.Served(small);
  line.Leave(small, 10);
  const Place more = line.Enter(60, 60);
  ASSERT_TRUE(line.MayLook(more));
  line.Served(more);
  line.Leave(more, 0);
  const Place late = line.Enter(10, 10);
  EXPECT_FALSE(line.MayLook(late)) << "closed: 110 bytes have passed one who wants 100";
  EXPECT_EQ(line.Wake(99), Places{large});
  EXPECT_EQ(line.Tick(99), Places{large}) << "for a second, at least";
  EXPECT_EQ(line.Tick(99), (Places{large, late})) << "open again";
}

TEST(MemoryQueue, AReleaseWakesOnlyThoseWhomItMayHelp) {
  planner::MemoryQueue line;
  Places places;
  for (const std::uint64_t bytes : {50, 20, 40, 10, 5}) {
    places.push_back(line.Enter(bytes, 0));
    if (line.MayLook(places.back())) line.Failed(places.back(), 0);
  }
  EXPECT_EQ(line.Wake(60), Places{places[0]}) << "it fits, and nobody is passed";
  EXPECT_EQ(line.Wake(32), (Places{places[0], places[1], places[3]}));
  EXPECT_EQ(line.Wake(3), Places{places[0]}) << "who asks for evictions";
}

TEST(MemoryQueue, WhatIsFreeInSmallPiecesGoesToThoseBehindTheFirst) {
  planner::MemoryQueue line;
  const Place large = line.Enter(60, 0);
  line.Failed(large, 0);
  const Place small = line.Enter(10, 0);
  EXPECT_EQ(line.Wake(80), Places{large}) << "it may fit";
  EXPECT_EQ(line.Failed(large, 80), Places{small}) << "80 are free, but not 60 in one piece";
  const Place late = line.Enter(20, 80);
  EXPECT_TRUE(line.MayLook(late)) << "the first has looked at these 80";
}

TEST(MemoryQueue, WhoLeavesLeavesNobodyBehindHim) {
  planner::MemoryQueue line;
  Places places;
  for (int i = 0; i < 5; ++i) places.push_back(line.Enter(10, 0));
  EXPECT_EQ(line.Leave(places[2], 0), Places{}) << "cancelled in the middle";
  EXPECT_EQ(line.Leave(places[0], 0), Places{places[1]});
  EXPECT_EQ(line.Leave(places[1], 0), Places{places[3]});
  EXPECT_EQ(line.Leave(places[3], 0), Places{places[4]});
  EXPECT_EQ(line.Leave(places[4], 0), Places{});
  EXPECT_TRUE(line.MayLook(line.Enter(10, 0))) << "an empty line";
}

}  // namespace
}  // namespace hoplite::node

// Tests of the tests: each planted fault of a node must be caught, by the property that it breaks.
// That the real node passes the same histories is shown by the other tests.
#include <chrono>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "sim/node_world/world.h"

namespace hoplite::node_world {
namespace {

// Memory that is used again soon: little of it, many Deletes and new Puts, slow links.
void LittleMemory(Options& options) {
  options.most_blocks = 8;
  options.memory_bytes = 400_KiB;
  options.link.bytes_per_second = 2'000'000;
  options.span = std::chrono::seconds(1);
  options.objects = 3;
  options.calls = 60;
  options.deletes = 8;
}
void ManyAtOnce(Options& options) {
  options.nodes = 4;
  options.most_blocks = 8;
  options.link.bytes_per_second = 2'000'000;
  options.calls = 40;
}
// Who is to stand between two that can't connect needs memory for the copy.
void ManyWindows(Options& options) {
  options.cut_pair = false;
  options.most_blocks = 8;
  options.windows = 6;
}
// Whose source has later stripes before earlier ones: it is itself fed over two connections.
void WindowsOfUnequalSources(Options& options) {
  ManyWindows(options);
  options.stripes = 2;
  options.two_lanes = true;
  options.data_loops = 2;
  options.sums = 3;
  options.calls = 30;
}
// A shard that starts again asks for an inventory of more than its lease carries.
void LongInventories(Options& options) {
  const std::uint64_t seed = options.seed;
  options = Options();
  options.seed = seed;
  options.nodes = 2;
  options.calls = 20;
  options.crowd = 3000;
  options.restarts = 1;
  options.link.bytes_per_second = 1'000'000;
}
// One fetch at a time, and Gets of what never comes or comes late.
void OneFetchAtATime(Options& options) {
  options.max_fetches = 1;
  options.nodes = 4;
  options.most_blocks = 8;
  options.calls = 40;
  options.sums = 3;
}
// Sums of many sources, with room for a few.
void FullStores(Options& options) {
  options.cut_pair = false;  // as above, and of two nodes there is no third
  options.nodes = 2;
  options.most_blocks = 8;
  options.memory_bytes = 640_KiB;
  options.span = std::chrono::milliseconds(500);
  options.sources = 8;
  options.sums = 3;
  options.calls = 10;
}
// With a disk for all that they put.
void FullStoresWithDisks(Options& options) {
  LittleMemory(options);
  options.sums = 0;
  options.disk_bytes = 64_MiB;
  options.disk = {};
}
// Trees of many sources over slow links that break: some inputs of a slot are far, others begin
// again. A slot of a ring has one input.
void ManyBreaks(Options& options) {
  options.rings = false;
  options.most_blocks = 8;
  options.link.bytes_per_second = 2'000'000;
  options.sources = 6;
  options.sums = 3;
  options.broken_streams = 10;
}
// Sums that a shard makes, of sources that come, go and are put anew.
void SmallSums(Options& options) {
  options.rings = false;
  options.full_links = true;  // a shard keeps two blocks
  options.shards = 1;
  options.most_blocks = 2;
  options.sources = 6;
  options.sums = 6;
  options.deletes += 4;
  options.restarts += 1;
}
// Small objects that many read, that are deleted and put anew, over links that break.
void SmallForMany(Options& options) {
  options.full_links = options.rings = true;  // whose links are known
  options.shards = 1;
  options.most_blocks = 2;
  options.objects = 2;
  options.crowd = 0;
  options.nodes = 6;
  options.calls = 40;
  options.cancels += 10;
  options.deletes += 6;
  options.broken_streams += 6;
}
// Nodes that nobody knows come to a shard that starts again.
void WithNewcomers(Options& options) {
  const std::uint64_t seed = options.seed;
  options = Options();
  options.seed = seed;
  options.calls = 20;
  options.restarts = 1;
  options.newcomers = 2;
}
// Newcomers have time to put objects in a life of the shard that the others miss.
void WithStateFiles(Options& options) {
  WithNewcomers(options);
  options.state_files = true;
  options.span = std::chrono::seconds(4);
  options.calls = 40;
  options.restarts = 3;
}
// Nodes that leave, with room for what they hand on. What has no taker at a drain's deadline is lost,
// which histories with newcomers (P16) do not expect.
void ManyDrains(Options& options) {
  options.cut_pair = false;
  options.memory_bytes = 8_MiB;
  options.owners = options.restarts = options.deletes = options.newcomers = 0;
  options.drains = 2;
  options.calls = 20;
}
void AsDrawn(Options& /*options*/) {}

struct Case {
  const char* name;
  PlantedFault fault;
  const char* property;  // the property that the fault is for; others may break on the way
  void (*tune)(Options& options) = AsDrawn;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class NodeFault : public testing::TestWithParam<Case> {};

TEST_P(NodeFault, IsCaught) {
  constexpr std::uint64_t kSeeds = 1000;
  const Case& tested = GetParam();
  std::string found;
  std::uint64_t seed = 0;
  while (!found.starts_with(tested.property) && seed < kSeeds) {
    Options options = Draw(++seed);
    tested.tune(options);
    options.fault = tested.fault;
    found = World(options).Run().violation;
  }
  EXPECT_TRUE(found.starts_with(tested.property)) << "seed " << seed << ": " << found;
  std::printf("%s by seed %llu: %s\n", tested.name, static_cast<unsigned long long>(seed),
              found.c_str());
}

TEST(NodeFaults, WithoutThemLongInventoriesAreToldInOneSession) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Options options;
    options.seed = seed;
    LongInventories(options);
    ASSERT_EQ(World(options).Run().violation, "") << seed;
  }
}

// The options that were tuned for the faults break nothing by themselves.
TEST(NodeFaults, WithoutThemTheSameHistoriesKeepEveryProperty) {
  for (const auto tune : {LittleMemory, ManyAtOnce, ManyWindows, WindowsOfUnequalSources,
                          OneFetchAtATime, FullStores, FullStoresWithDisks, ManyBreaks, SmallSums,
                          SmallForMany, WithNewcomers, WithStateFiles, ManyDrains}) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Options options = Draw(seed);
      tune(options);
      ASSERT_EQ(World(options).Run().violation, "")
          << "seed " << seed << ", " << options.nodes << " nodes, " << options.memory_bytes
          << " bytes, " << options.max_fetches << " fetches, cut " << options.cut_pair;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeFault,
    testing::Values(
        Case{"SkipsRecalls", PlantedFault::kSkipsRecalls, "P9"},
        Case{"LosesParkedRequests", PlantedFault::kLosesParkedRequests, "P9"},
        Case{"ForgetsPins", PlantedFault::kForgetsPins, "P3", LittleMemory},
        Case{"ReusesMemoryBeingSent", PlantedFault::kReusesMemoryBeingSent, "P3", LittleMemory},
        Case{"RepeatsABlockOnResume", PlantedFault::kRepeatsABlockOnResume, "P3"},
        Case{"FoldsTwice", PlantedFault::kFoldsTwice, "P6", ManyBreaks},
        Case{"ReturnsBeforeCommit", PlantedFault::kReturnsBeforeCommit, "P6"},
        Case{"HoldsItsTurn", PlantedFault::kHoldsItsTurn, "P9", ManyAtOnce},
        Case{"KeepsDeletedCopies", PlantedFault::kKeepsDeletedCopies, "P10"},
        Case{"KeepsGrantsOpen", PlantedFault::kKeepsGrantsOpen, "P10"},
        Case{"TrustsTheLastByte", PlantedFault::kTrustsTheLastByte, "P6"},
        Case{"KeepsStoppedReaders", PlantedFault::kKeepsStoppedReaders, "P10", ManyWindows},
        Case{"AsksInAnyOrder", PlantedFault::kAsksInAnyOrder, "P9", WindowsOfUnequalSources},
        Case{"TellsAllAtOnce", PlantedFault::kTellsAllAtOnce, "P12", LongInventories},
        Case{"KeepsItsPlace", PlantedFault::kKeepsItsPlace, "P9", OneFetchAtATime},
        Case{"QueuesInputs", PlantedFault::kQueuesInputs, "P15", OneFetchAtATime},
        Case{"QueuesFeeders", PlantedFault::kQueuesFeeders, "P15", OneFetchAtATime},
        Case{"SpinsForMemory", PlantedFault::kSpinsForMemory, "P13", LittleMemory},
        Case{"HoardsMemory", PlantedFault::kHoardsMemory, "P14", FullStores},
        Case{"LeavesDiskIdle", PlantedFault::kLeavesDiskIdle, "P21", FullStoresWithDisks},
        Case{"DropsWhatIsToStay", PlantedFault::kDropsWhatIsToStay, "P20", ManyDrains},
        Case{"MisreportsFolds", PlantedFault::kMisreportsFolds, "P6", SmallSums},
        Case{"TrustsGives", PlantedFault::kTrustsGives, "P9", SmallForMany},
        Case{"FirstDecides", PlantedFault::kFirstDecides, "P16", WithNewcomers},
        Case{"ForgetsItsState", PlantedFault::kForgetsItsState, "P16", WithStateFiles}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace hoplite::node_world

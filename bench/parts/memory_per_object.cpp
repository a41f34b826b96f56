// How many bytes of memory a shard takes per object of 16 bytes with one holder, or more.
//
//   memory_per_object [objects] [holders]
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <unistd.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// When the Put of an object is accepted, all other holders get it, too.
void HoldEverywhere(DirectoryState& state, const Action& action, std::uint64_t holders) {
  const auto* accepted = std::get_if<CreateAccepted>(&action.body);
  if (accepted == nullptr) return;
  for (std::uint64_t node = 2; node <= holders; ++node) {
    const CopyComplete has{accepted->object, accepted->version};
    state.Apply({Time{}, NodeSaid{NodeId(node), has}});
  }
}

void Run(std::uint64_t objects, std::uint64_t holders) {
  DirectoryOptions options;
  options.recovery_window = Duration(0);
  const std::uint64_t before = ResidentBytes();
  DirectoryState state(options, Time{});
  for (std::uint64_t node = 1; node <= holders; ++node) {
    state.Apply({Time{}, NodeJoined{{NodeId(node), "n" + std::to_string(node), "x:7000"}, 0}});
    state.Apply({Time{}, NodeSaid{NodeId(node), InventoryEnd{}}});
  }
  std::vector<Action> actions;
  for (std::uint64_t i = 0; i < objects; ++i) {
    const ObjectId id = ObjectId::FromName(std::to_string(i));
    const auto bytes = std::make_shared<const std::string>(16, 'x');
    state.Apply({Time{}, NodeSaid{NodeId(1), Create{id, Layout::For(16), "", bytes}}});
    if (i % 1000 != 999 && i + 1 != objects) continue;
    do {
      actions.clear();
      while (state.Plan(Time{}, actions) <= Time{}) {
      }
      for (const Action& action : actions) HoldEverywhere(state, action, holders);
    } while (!actions.empty());
  }
  std::printf("%llu objects: %.0f bytes each\n", static_cast<unsigned long long>(objects),
              static_cast<double>(ResidentBytes() - before) / static_cast<double>(objects));
}

}  // namespace
}  // namespace hoplite::planner

int main(int argc, char** argv) {
  std::uint64_t objects = 1'000'000;
  std::uint64_t holders = 1;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), objects);
  if (argc > 2) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), holders);
  hoplite::planner::Run(objects, holders);
  return 0;
}

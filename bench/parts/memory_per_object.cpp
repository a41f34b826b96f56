// How many bytes of memory a shard takes per object of 16 bytes with one holder.
//
//   memory_per_object [objects]
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "planner/directory_state.h"

namespace hoplite::planner {
namespace {

std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void Run(std::uint64_t objects) {
  DirectoryOptions options;
  options.recovery_window = Duration(0);
  const std::uint64_t before = ResidentBytes();
  DirectoryState state(options, Time{});
  state.Apply({Time{}, NodeJoined{{NodeId(1), "n1", "127.0.0.1:7000"}, 0}});
  state.Apply({Time{}, NodeSaid{NodeId(1), InventoryEnd{}}});
  std::vector<Action> actions;
  for (std::uint64_t i = 0; i < objects; ++i) {
    const ObjectId id = ObjectId::FromName(std::to_string(i));
    const auto bytes = std::make_shared<const std::string>(16, 'x');
    state.Apply({Time{}, NodeSaid{NodeId(1), Create{id, Layout::For(16), "", bytes}}});
    if (i % 1000 != 999 && i + 1 != objects) continue;
    while (state.Plan(Time{}, actions) <= Time{}) actions.clear();
    actions.clear();
  }
  std::printf("%llu objects: %.0f bytes each\n", static_cast<unsigned long long>(objects),
              static_cast<double>(ResidentBytes() - before) / static_cast<double>(objects));
}

}  // namespace
}  // namespace hoplite::planner

int main(int argc, char** argv) {
  std::uint64_t objects = 1'000'000;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), objects);
  hoplite::planner::Run(objects);
  return 0;
}

#include "node/memory.h"

#include <algorithm>

#include "base/units.h"

namespace hoplite::node {
namespace {

// What may be under way to a node; and of a small store not more than this part.
constexpr std::uint64_t kWindowBytes = 4_MiB;
constexpr std::uint64_t kWindowPart = 4;

}  // namespace

Memory::Memory(store::ObjectStore& store, directory::DirectoryClient& directory)
    : store_(store), directory_(directory) {}

Result<store::CopyPtr> Memory::Try(const ObjectId& object, const Layout& layout,
                                   const std::string& metadata) {
  auto copy = store_.Create(object, layout, metadata, store::CopyKind::kTransient);
  const bool full = !copy && copy.error().code == ErrorCode::kResourceExhausted;
  if (full) AskForEvictions(layout.size_bytes);
  return copy;
}

Result<store::CopyPtr> Memory::TryWindow(const ObjectId& object, const Layout& layout,
                                         const std::string& metadata) {
  auto window = store_.CreateWindow(object, layout, metadata, WindowBytes(layout));
  if (!window) AskForEvictions(WindowBytes(layout));
  return window;
}

std::uint64_t Memory::WindowBytes(const Layout& layout) const {
  const std::uint64_t bytes = std::min(kWindowBytes, store_.usage().capacity_bytes / kWindowPart);
  return std::max<std::uint64_t>(bytes / layout.block_bytes, 1) * layout.block_bytes;
}

void Memory::AskForEvictions(std::uint64_t bytes) {
  for (const ObjectId& victim : store_.Victims(bytes)) {
    const store::CopyPtr candidate = store_.Find(victim);
    if (!asked_.insert(victim).second) continue;
    directory_.Send(planner::EvictAsk{victim, candidate->version()});
  }
}

void Memory::OnEvictAnswer(const planner::EvictAnswer& answer) {
  asked_.erase(answer.object);
  const store::CopyPtr copy = store_.Find(answer.object);
  if (copy && copy->version() == answer.version) {
    if (answer.drop) {
      store_.Remove(answer.object);
    } else {
      store_.MakePrimary(answer.object);
    }
  }
  OnSpace();
}

void Memory::OnSpace() {
  for (const auto& [number, signal] : waiters_) signal->Notify();
}

}  // namespace hoplite::node

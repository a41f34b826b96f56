#include "node/memory.h"

namespace hoplite::node {

Memory::Memory(store::ObjectStore& store, directory::DirectoryClient& directory)
    : store_(store), directory_(directory) {}

Result<store::CopyPtr> Memory::Try(const ObjectId& object, const Layout& layout,
                                   const std::string& metadata) {
  auto copy = store_.Create(object, layout, metadata, store::CopyKind::kTransient);
  if (copy || copy.error().code != ErrorCode::kResourceExhausted) return copy;
  for (const ObjectId& victim : store_.Victims(layout.size_bytes)) {
    const store::CopyPtr candidate = store_.Find(victim);
    if (!asked_.insert(victim).second) continue;
    directory_.Send(planner::EvictAsk{victim, candidate->version()});
  }
  return copy;
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

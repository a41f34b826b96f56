// What must hold after every event; the numbers are those of README.md.
#include <fmt/format.h>

#include "planner/shard/directory_internal.h"

namespace hoplite::planner {
namespace {

std::string BrokenReduction(const Books& books, const ObjectId& id, const ObjectRecord& record) {
  if (!record.reduction) return {};
  const ReductionRecord& reduction = *record.reduction;
  if (reduction.committed) {
    return reduction.tree.slots().empty() ? "" : "P7: a committed target still has slots";
  }
  if (books.nodes.Find(reduction.coordinator) == nullptr) {
    return "P10: a reduction outlives its coordinator";
  }
  if (!books.objects.SpokeOf(reduction.coordinator, id))
    return "S4: a coordinator does not know its target";
  return reduction.tree.BrokenInvariant(record.version);
}

std::string BrokenObject(const Books& books, const ObjectId& id, const ObjectRecord& record) {
  const NodeTable& nodes = books.nodes;
  // What its members' going means for it is seen to before anything else is done with it.
  if (books.sweeps.Has(id)) return record.table.BrokenInvariant();
  for (const auto& [node, copy] : record.table.copies()) {
    const NodeRecord* member = nodes.Find(node);
    if (member == nullptr) return fmt::format("P4: {} is lost but has a copy", ToString(node));
    if (copy.live && !member->alive) {
      return fmt::format("P4: {} is suspended but may be a source", member->info.name);
    }
    if (!books.objects.SpokeOf(node, id)) {
      return fmt::format("S4: {} does not know what it spoke of", member->info.name);
    }
  }
  const bool marked = books.tombstones.Until(id, books.clock.now()).has_value();
  if (marked && (record.exists() || !record.table.copies().empty())) {
    return "P5: it was deleted and is still there";
  }
  const SmallSet<NodeId>& subscribers = record.waiting().subscribers;
  std::vector<NodeId> waiting(subscribers.begin(), subscribers.end());
  for (const Asking& one : record.waiting().locates) waiting.push_back(one.node);
  for (const NodeId node : waiting) {
    if (!nodes.alive(node)) return fmt::format("P8: {} waits without session", ToString(node));
  }
  if (record.waiting().creates.size() > nodes.nodes().size())
    return "P8: more creates wait than nodes are";
  if (record.version.incarnation > books.stamps.incarnation()) {
    return fmt::format("S6: version {} is of the future", ToString(record.version));
  }
  if (std::string broken = BrokenReduction(books, id, record); !broken.empty()) return broken;
  return record.table.BrokenInvariant();
}

std::string BrokenRegisters(const Books& books) {
  if (!books.registers.Consistent()) return "S4: the index of registers disagrees with them";
  for (const auto& [id, record] : books.registers.records()) {
    if (record.entry.version.incarnation > books.stamps.incarnation()) {
      return fmt::format("S6: number {} of a register is of the future",
                         ToString(record.entry.version));
    }
    for (const auto& [node, user] : record.users) {
      if (!user.away && !books.nodes.alive(node)) {
        return fmt::format("P8: {} has a register open without session", ToString(node));
      }
    }
  }
  return {};
}

std::string BrokenOwners(const Books& books) {
  if (!books.owners.Consistent()) return "S4: an index of owners disagrees with its entries";
  for (const auto& [id, known] : books.owners.ids()) {
    if (books.tombstones.Until(id, books.clock.now())) {
      return fmt::format("P5: it was deleted and somebody owns it (object {})", id.ToHex());
    }
    if (books.objects.Find(id) == nullptr) {
      return fmt::format("S8: nothing is known of an id that was owned (object {})", id.ToHex());
    }
    for (const OwningNode& owner : known.owners) {
      if (owner.standing == Standing::kOrphan || books.sweeps.Has(id)) continue;
      if (!books.objects.SpokeOf(owner.node, id)) {
        return fmt::format("S8: {} does not know that it owns it (object {})",
                           books.nodes.NameOf(owner.node), id.ToHex());
      }
    }
  }
  return {};
}

}  // namespace

std::string BrokenInvariant(const Books& books) {
  if (!books.tombstones.Consistent() || !books.ended.Consistent() || !books.apart.Consistent()) {
    return "S4: an index of times disagrees with its entries";
  }
  if (std::string broken = BrokenOwners(books); !broken.empty()) return broken;
  if (std::string broken = BrokenRegisters(books); !broken.empty()) return broken;
  std::uint64_t inline_bytes = 0;
  std::uint64_t metadata_bytes = 0;
  for (const auto& [id, record] : books.objects.records()) {
    if (record.inline_bytes != nullptr) inline_bytes += record.inline_bytes->size();
    metadata_bytes += record.metadata.OrEmpty().size();
    if (std::string broken = BrokenObject(books, id, record); !broken.empty()) {
      return fmt::format("{} (object {})", broken, id.ToHex());
    }
  }
  const InlineBudget& inlined = books.inlined;
  if (inline_bytes != inlined.inline_bytes() || inline_bytes > inlined.total_limit_bytes()) {
    return fmt::format("P8: {} inline bytes are accounted as {}, {} is the limit", inline_bytes,
                       inlined.inline_bytes(), inlined.total_limit_bytes());
  }
  if (metadata_bytes != inlined.metadata_bytes()) {
    return fmt::format("P8: {} bytes of metadata are accounted as {}", metadata_bytes,
                       inlined.metadata_bytes());
  }
  return {};
}

std::string DirectoryState::BrokenInvariant() const {
  return planner::BrokenInvariant(state_->books());
}

}  // namespace hoplite::planner

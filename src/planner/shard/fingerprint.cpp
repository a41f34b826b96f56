// Two states with the same fingerprint answer the same events alike; exhaustive search relies on
// it.
#include <variant>

#include "base/digest_fields.h"
#include "planner/shard/directory_internal.h"

namespace hoplite::planner {
namespace {

void AddDeferred(Digest& digest, const Deferred& said) {
  digest.Add(Raw(said.node)).Add(said.event.index());
  std::visit([&digest](const auto& word) { AddFields(digest, word); }, said.event);
}

void AddNodes(Digest& digest, const SmallSet<NodeId>& nodes) {
  for (const NodeId node : nodes) digest.Add(Raw(node));
  digest.Add(nodes.size());
}

void AddReduction(Digest& digest, const ReductionRecord& reduction) {
  digest.Add(Raw(reduction.coordinator)).Add(reduction.request).Add(reduction.shaped);
  digest.Add(reduction.owner.owned).Add(reduction.owner.number);
  digest.Add(reduction.owner.grace.value_or(Duration(-1)));
  digest.Add(reduction.vouched).Add(reduction.plan).Add(reduction.tree.striped());
  digest.Add(reduction.layout.size_bytes).Add(reduction.metadata).Add(reduction.committed);
  digest.Add(reduction.withheld);
  for (const ObjectId& source : reduction.used) digest.Add(source);
  for (const auto& [slot, known] : reduction.tree.slots()) {
    digest.Add(slot).Add(known.attempt).Add(known.version).Add(known.drained).Add(known.asked);
    digest.Add(known.lost.has_value()).Add(Raw(known.order.node)).Add(known.order.stripes);
    for (const std::uint32_t parent : known.order.parents) digest.Add(parent);
    digest.Add(known.order.children);
    for (const std::uint32_t mark : known.marks) digest.Add(mark);
    for (const SlotInput& input : known.order.inputs) digest.Add(input.object).Add(input.version);
  }
}

void AddRecord(Digest& digest, const ObjectId& id, const ObjectRecord& record) {
  digest.Add(id).Add(record.version).Add(record.metadata.OrEmpty());
  digest.Add(Raw(record.putter.node)).Add(record.putter.attempt);
  digest.Add(record.inline_bytes != nullptr);
  if (record.inline_bytes != nullptr) digest.Add(*record.inline_bytes);
  record.table.AddTo(digest);
  digest.Add(record.gathers_until).Add(record.joint).Add(record.by_arrival);
  digest.Add(record.inline_read);
  const Waiting& waiting = record.waiting();
  for (const PendingCreate& create : waiting.creates) {
    digest.Add(Raw(create.node));
    AddFields(digest, create.request);
  }
  for (const PendingOpen& open : waiting.opens) {
    digest.Add(Raw(open.node)).Add(open.request).Add(open.then.size());
    AddFields(digest, open.shard_fold);
  }
  if (record.reduction) AddReduction(digest, *record.reduction);
  for (const Asking& one : waiting.locates) {
    digest.Add(Raw(one.node)).Add(one.room).Add(one.number).Add(one.joint);
    digest.Add(one.version).Add(one.until).Add(one.given);
  }
  AddNodes(digest, waiting.evictions);
  AddNodes(digest, waiting.subscribers);
  for (const Expectation& one : waiting.expectations) digest.Add(Raw(one.node)).Add(one.number);
  AddNodes(digest, record.touched);
  digest.Add(waiting.loss.node_name).Add(waiting.loss.unfinished);
}

}  // namespace

std::uint64_t DirectoryState::Fingerprint() const {
  const Books& books = state_->books();
  Digest digest;
  const bool collecting = books.window.collecting();
  digest.Add(collecting).Add(collecting ? books.window.earliest_end() : Time{});
  digest.Add(books.stamps.incarnation()).Add(books.stamps.sequence());
  digest.Add(books.stamps.gave_versions()).Add(books.stamps.requests());
  digest.Add(books.inlined.total_bytes());
  books.inline_pace.AddTo(digest);
  for (const auto& [id, node] : books.nodes.nodes()) {
    digest.Add(Raw(id)).Add(node.info.name).Add(node.info.address);
    digest.Add(node.alive).Add(node.inventory_open).Add(node.gives_until);
    if (collecting) digest.Add(node.telling.value_or(Time{}));
  }
  for (const auto& [id, record] : books.objects.records()) AddRecord(digest, id, record);
  books.tombstones.AddTo(digest);
  books.ended.AddTo(digest);
  books.owners.AddTo(digest);
  books.registers.AddTo(digest);
  if (!books.owners.idle() || !books.registers.empty()) books.owner_clock.AddTo(digest);
  for (const auto& [pair, until] : books.apart.entries()) {
    digest.Add(Raw(pair.first)).Add(Raw(pair.second)).Add(until);
  }
  for (const auto& [id, until] : books.losses.entries()) digest.Add(id).Add(until);
  books.pairs.AddTo(digest);
  for (const auto& [id, until] : books.gathering.entries()) digest.Add(id).Add(until);
  for (const auto& [id, until] : books.giving.entries()) digest.Add(id).Add(until);
  books.window.ForEach([&](const Deferred& said) { AddDeferred(digest, said); });
  books.sweeps.AddTo(digest);
  books.agenda.AddTo(digest);
  books.outbox.AddTo(digest);
  return digest.value();
}

}  // namespace hoplite::planner

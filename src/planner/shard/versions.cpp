#include "planner/shard/versions.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace hoplite::planner {

void Versions::Start(const ObjectId& id, ObjectRecord& record, Version version,
                     const Layout& layout, const std::string& metadata, StripeGroups groups) {
  record.version = version;
  ended_.Replace(id);
  record.gathers_until = kNever;
  record.joint = record.by_arrival = false;
  record.putter = {};
  if (record.waits) {
    record.waits->loss = {};
    record.waits->evictions.clear();
  }
  inlined_.Begin(record, metadata);
  // Whoever has bytes of the version before would go on returning them (R4).
  for (const auto& [node, copy] : record.table.copies()) {
    if (copy.listed) post_.Notify(id, record, node, LocationKind::kGone);
    post_.Send(node, Recall{id, version});
  }
  record.table = CopyTable(layout, std::move(groups));
  record.samples.reset();
  record.slow_relays.reset();
}

void Versions::AddMaker(ObjectRecord& record, NodeId node, bool complete, std::uint64_t order) {
  const Layout& layout = record.table.layout();
  record.table.Add(node);
  record.table.Edit(node, [&](Copy& copy) {
    copy.listed = copy.primary = true;
    copy.leaf = false;  // that it was, if the word was repeated
    copy.wanted = 0;
    copy.complete = complete;
    copy.produces = complete ? 0 : layout.all_stripes();
    copy.order = order;
    if (complete) copy.marks = layout.full_marks();
    if (complete) copy.done = layout.all_stripes();
  });
}

std::string Versions::WhyNoRoom(const ObjectId& id, const ObjectRecord& record,
                                const std::string& metadata) const {
  if (inlined_.HasRoomFor(record, metadata)) return {};
  return fmt::format(
      "object {}: the directory has no room for its {} bytes of metadata: its shard keeps {} of "
      "metadata, and {} is the limit (--inline-total); delete objects, or start the directory with "
      "a higher limit",
      id.ToHex(), metadata.size(), FormatExactSize(inlined_.metadata_bytes()),
      FormatExactSize(inlined_.total_limit_bytes()));
}

void Versions::DropCopy(const ObjectId& id, ObjectRecord& record, NodeId node) {
  const Copy* copy = record.table.Find(node);
  if (copy == nullptr) return;
  const bool was_listed = copy->listed;
  const bool existed = record.exists();
  const bool unfinished = copy->produces != 0;
  record.table.Remove(node);
  if (record.waits) record.waits->evictions.erase(node);
  agenda_.Add(id);
  if (was_listed) post_.Notify(id, record, node, LocationKind::kGone);
  if (!existed || record.exists() || record.open_reduction()) return;
  record.waits.Make().loss = {nodes_.NameOf(node), unfinished};
  post_.TellLost(id, record);
}

}  // namespace hoplite::planner

// The ordered indexes of a CopyTable: one entry per copy and group that it stands in.
#include <limits>

#include "planner/copy_table.h"

namespace hoplite::planner {

SourceKey CopyTable::KeyOfSource(std::size_t group, NodeId node, const Copy& copy) {
  const Place& place = copy.place(group);
  if (copy.final()) return {false, place.used, Time{}, 0, node};
  return {true, place.used, place.lag, copy.order, node};
}

ParkedKey CopyTable::KeyOfParked(std::size_t group, NodeId node, const Copy& copy) const {
  const std::uint64_t has = ProgressIn(group, copy);
  return {!copy.place(group).orphan && !copy.leaf, std::numeric_limits<std::uint64_t>::max() - has,
          copy.slot, DistanceOf(group, node), node};
}

ProgressKey CopyTable::KeyOfProgress(std::size_t group, NodeId node, const Copy& copy) const {
  return {ProgressIn(group, copy), std::numeric_limits<std::uint32_t>::max() - copy.slot,
          std::numeric_limits<std::uint64_t>::max() - DistanceOf(group, node), node};
}

// A copy is listed from its first grant on (R9): of several groups, in each by itself.
bool CopyTable::IsSource(std::size_t group, const Copy& copy) const {
  if (!copy.live || !copy.listed || copy.evicting) return false;
  return group_count() == 1 || copy.final() || copy.place(group).lag != Time{} ||
         ProgressIn(group, copy) > 0;
}

OneOrSet<SourceKey> CopyTable::sources(std::size_t group) const {
  if (shared_) return OneOrSet<SourceKey>(shared_->sources[group]);
  const auto only = copies_.begin();
  if (only == copies_.end() || !IsSource(group, only->second)) return {};
  return OneOrSet<SourceKey>(KeyOfSource(group, only->first, only->second));
}

bool CopyTable::sources_whole() const {
  for (std::size_t group = 0; group < group_count(); ++group) {
    const OneOrSet<SourceKey> some = sources(group);
    if (some.empty() || some.begin()->partial) return false;  // final ones sort first
  }
  return true;
}

bool CopyTable::somebody_parked() const {
  return !streams_.OrEmpty().indexes.AllOf(
      [](const GroupIndex& index) { return index.parked.empty(); });
}

CopyTable::Finals CopyTable::finals() const {
  if (shared_) return shared_->finals;
  Finals finals;
  for (const auto& [node, only] : copies_) finals.Count(only, 1);
  return finals;
}

// The first copy is not the only one any more; the second has nothing yet.
void CopyTable::Share() {
  Shared& shared = shared_.Make();
  for (const auto& [node, copy] : copies_) {
    shared.finals.Count(copy, 1);
    for (std::size_t group = 0; group < group_count(); ++group) {
      if (!IsSource(group, copy)) continue;
      shared.sources.Make(group).insert(KeyOfSource(group, node, copy));
    }
  }
}

void CopyTable::Index(NodeId node, const Copy& copy) {
  for (std::size_t group = 0; group < group_count(); ++group) {
    if (shared_ && IsSource(group, copy)) {
      shared_->sources.Make(group).insert(KeyOfSource(group, node, copy));
    }
    if (Waits(group, copy)) {
      streams_.Make().indexes.Make(group).parked.insert(KeyOfParked(group, node, copy));
    }
    if (IsFed(group, copy) && !copy.leaf) {
      streams_.Make().indexes.Make(group).feeding.insert(KeyOfProgress(group, node, copy));
    }
  }
  if (Starves(copy)) streams_.Make().starved.insert(node);
  if (copy.superseded()) ++streams_.Make().superseded;
  if (shared_) shared_->finals.Count(copy, 1);
}

void CopyTable::Unindex(NodeId node, const Copy& copy) {
  for (std::size_t group = 0; group < group_count(); ++group) {
    if (shared_ && IsSource(group, copy)) {
      shared_->sources.Make(group).erase(KeyOfSource(group, node, copy));
    }
    if (Waits(group, copy)) {
      streams_->indexes.Make(group).parked.erase(KeyOfParked(group, node, copy));
    }
    if (IsFed(group, copy) && !copy.leaf) {
      streams_->indexes.Make(group).feeding.erase(KeyOfProgress(group, node, copy));
    }
  }
  if (Starves(copy)) streams_->starved.erase(node);
  if (copy.superseded()) --streams_->superseded;
  if (shared_) shared_->finals.Count(copy, -1U);
}

}  // namespace hoplite::planner

// The ordered indexes of a CopyTable: one entry per copy and group that it stands in.
#include <limits>

#include "planner/copy_table.h"

namespace hoplite::planner {

namespace {

// `part`: the stripes of the group in which the copy stands.
SourceKey KeyOfSource(std::size_t group, StripeMask part, NodeId node, const Copy& copy) {
  const Place& place = copy.place(group);
  if (copy.FinalIn(part)) return {false, place.used, Time{}, 0, node};
  return {true, place.used, place.lag, copy.order, node};
}

bool Waits(StripeMask part, const Copy& copy) { return copy.live && (copy.parked() & part) != 0; }

bool IsFed(StripeMask part, const Copy& copy) {
  return copy.live && (copy.fed() & part) != 0 && !copy.FinalIn(part);
}

bool Starves(const Copy& copy) {
  return copy.starved && copy.live && copy.fed() != 0 && !copy.final();
}

}  // namespace

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
bool CopyTable::IsSource(std::size_t group, StripeMask part, const Copy& copy) const {
  if (!copy.live || !copy.listed || copy.evicting) return false;
  return group_count() == 1 || copy.FinalIn(part) || copy.place(group).lag != Time{} ||
         copy.progress(part) > 0;
}

OneOrSet<SourceKey> CopyTable::sources(std::size_t group) const {
  if (shared_) return OneOrSet<SourceKey>(shared_->sources[group]);
  const StripeMask part = stripes(group);
  const auto only = copies_.begin();
  if (only == copies_.end() || !IsSource(group, part, only->second)) return {};
  return OneOrSet<SourceKey>(KeyOfSource(group, part, only->first, only->second));
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

CopyTable::Finals CopyTable::finals(std::size_t group) const {
  if (shared_) return shared_->finals[group];
  Finals finals;
  for (const auto& [node, only] : copies_) finals.Count(only, stripes(group), 1);
  return finals;
}

bool CopyTable::whole() const {
  for (std::size_t group = 0; group < group_count(); ++group) {
    if (finals(group).all == 0) return false;
  }
  return true;
}

bool CopyTable::live_whole() const {
  for (std::size_t group = 0; group < group_count(); ++group) {
    if (finals(group).live == 0) return false;
  }
  return true;
}

// The first copy is not the only one any more; the second has nothing yet.
void CopyTable::Share() {
  Shared& shared = shared_.Make();
  for (const auto& [node, copy] : copies_) {
    for (std::size_t group = 0; group < group_count(); ++group) {
      const StripeMask part = stripes(group);
      shared.finals.Make(group).Count(copy, part, 1);
      if (!IsSource(group, part, copy)) continue;
      shared.sources.Make(group).insert(KeyOfSource(group, part, node, copy));
    }
  }
}

void CopyTable::Index(NodeId node, const Copy& copy) {
  for (std::size_t group = 0; group < group_count(); ++group) {
    const StripeMask part = stripes(group);
    if (shared_) shared_->finals.Make(group).Count(copy, part, 1);
    if (shared_ && IsSource(group, part, copy)) {
      shared_->sources.Make(group).insert(KeyOfSource(group, part, node, copy));
    }
    if (Waits(part, copy)) {
      streams_.Make().indexes.Make(group).parked.insert(KeyOfParked(group, node, copy));
    }
    if (IsFed(part, copy) && !copy.leaf) {
      streams_.Make().indexes.Make(group).feeding.insert(KeyOfProgress(group, node, copy));
    }
  }
  if (Starves(copy)) streams_.Make().starved.insert(node);
  if (copy.superseded()) ++streams_.Make().superseded;
}

void CopyTable::Unindex(NodeId node, const Copy& copy) {
  for (std::size_t group = 0; group < group_count(); ++group) {
    const StripeMask part = stripes(group);
    if (shared_) shared_->finals.Make(group).Count(copy, part, -1U);
    if (shared_ && IsSource(group, part, copy)) {
      shared_->sources.Make(group).erase(KeyOfSource(group, part, node, copy));
    }
    if (Waits(part, copy)) {
      streams_->indexes.Make(group).parked.erase(KeyOfParked(group, node, copy));
    }
    if (IsFed(part, copy) && !copy.leaf) {
      streams_->indexes.Make(group).feeding.erase(KeyOfProgress(group, node, copy));
    }
  }
  if (Starves(copy)) streams_->starved.erase(node);
  if (copy.superseded()) --streams_->superseded;
}

}  // namespace hoplite::planner

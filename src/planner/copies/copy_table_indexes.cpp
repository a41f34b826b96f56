// The ordered indexes of a CopyTable: one entry per copy and group that it stands in.
#include <limits>
#include <optional>
#include <set>

#include "planner/copies/copy_table.h"

namespace hoplite::planner {

namespace {

constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();

// `part`: the stripes of the group in which the copy stands.
bool Waits(StripeMask part, const Copy& copy) { return copy.live && (copy.parked() & part) != 0; }

bool IsFed(StripeMask part, const Copy& copy) {
  return copy.live && (copy.fed() & part) != 0 && !copy.FinalIn(part);
}

bool Starves(const Copy& copy) {
  return copy.starved && copy.live && copy.fed() != 0 && !copy.final();
}

template <typename Key>
void Replace(std::set<Key>& index, const std::optional<Key>& from, const std::optional<Key>& to) {
  if (from) index.erase(*from);
  if (to) index.insert(*to);
}

}  // namespace

std::uint32_t CopyTable::SlotOf(const Copy& copy) const {
  return group_count() > 1 && copy.slot == 0 ? kLast : copy.slot;
}

SourceKey CopyTable::KeyOfSource(std::size_t group, NodeId node, const Copy& copy) const {
  SourceKey key{.used = LoadIn(group, copy), .on_disk = copy.on_disk, .node = node};
  if (copy.FinalIn(stripes(group))) return key;
  key.partial = true;
  key.away = HomeIn(group, copy) == Home::kElsewhere;
  key.lag = copy.place(group).lag;
  key.order = copy.order;
  return key;
}

ParkedKey CopyTable::KeyOfParked(std::size_t group, NodeId node, const Copy& copy) const {
  const std::uint64_t has = ProgressIn(group, copy);
  const Home home = HomeIn(group, copy);
  // The last units that are free are those of who came last in its own group: it must not be last in
  // the others, too.
  const std::uint64_t distance = DistanceOf(group, node);
  return {!copy.place(group).orphan && !copy.leaf,         home,
          std::numeric_limits<std::uint64_t>::max() - has, SlotOf(copy),
          home == Home::kElsewhere ? ~distance : distance, node};
}

ProgressKey CopyTable::KeyOfProgress(std::size_t group, NodeId node, const Copy& copy) const {
  return {ProgressIn(group, copy), kLast - SlotOf(copy),
          std::numeric_limits<std::uint64_t>::max() - DistanceOf(group, node), node};
}

// A copy is listed from its first grant on: before, its node may have no memory, and receivers
// behind it would wait for that, too (R9). Of several groups, in each by itself.
bool CopyTable::IsSource(std::size_t group, const Copy& copy) const {
  if (!copy.live || !copy.listed || copy.evicting) return false;
  if (copy.home == kServesNobody && !copy.final()) return false;
  const StripeMask part = stripes(group);
  return group_count() == 1 || copy.FinalIn(part) || copy.place(group).lag != Time{} ||
         copy.progress(part) > 0;
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

CopyTable::Finals CopyTable::finals(std::size_t group) const {
  if (shared_) return shared_->finals[group];
  if (copies_.empty()) return {};
  const auto only = copies_.begin();
  return StandingIn(group, only->first, only->second).finals;
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

CopyTable::InGroup CopyTable::StandingIn(std::size_t group, NodeId node, const Copy& copy) const {
  const StripeMask part = stripes(group);
  InGroup at;
  if (copy.FinalIn(part)) at.finals = {.all = 1, .live = copy.live ? 1U : 0U};
  if (copy.home == group && copy.live && !copy.final()) at.finals.homes = 1;
  if (IsSource(group, copy)) at.source = KeyOfSource(group, node, copy);
  if (Waits(part, copy)) at.parked = KeyOfParked(group, node, copy);
  if (IsFed(part, copy) && !copy.leaf) at.feeding = KeyOfProgress(group, node, copy);
  return at;
}

CopyTable::Standing CopyTable::StandingOf(NodeId node, const Copy& copy) const {
  Standing standing{.starved = Starves(copy), .superseded = copy.superseded()};
  for (std::size_t group = group_count(); group-- > 0;) {
    standing.groups.Make(group) = StandingIn(group, node, copy);
  }
  return standing;
}

// The first copy is not the only one any more; the second has nothing yet.
void CopyTable::Share() {
  shared_.Make();
  for (const auto& [node, copy] : copies_) {
    for (std::size_t group = 0; group < group_count(); ++group) {
      const InGroup at = StandingIn(group, node, copy);
      MoveIn(group, {}, {.finals = at.finals, .source = at.source});
    }
  }
}

void CopyTable::Move(NodeId node, const Standing& from, const Standing& to) {
  for (std::size_t group = 0; group < group_count(); ++group) {
    MoveIn(group, from.groups[group], to.groups[group]);
  }
  if (from.starved && !to.starved) streams_->starved.erase(node);
  if (!from.starved && to.starved) streams_.Make().starved.insert(node);
  if (from.superseded && !to.superseded) --streams_->superseded;
  if (!from.superseded && to.superseded) ++streams_.Make().superseded;
}

void CopyTable::MoveIn(std::size_t group, const InGroup& from, const InGroup& to) {
  if (shared_ && from.finals != to.finals) {
    Finals& finals = shared_->finals.Make(group);
    finals.all += to.finals.all - from.finals.all;
    finals.live += to.finals.live - from.finals.live;
    finals.homes += to.finals.homes - from.finals.homes;
  }
  if (shared_ && from.source != to.source) {
    Replace(shared_->sources.Make(group), from.source, to.source);
  }
  if (from.parked != to.parked) {
    Replace(streams_.Make().indexes.Make(group).parked, from.parked, to.parked);
  }
  if (from.feeding != to.feeding) {
    Replace(streams_.Make().indexes.Make(group).feeding, from.feeding, to.feeding);
  }
}

}  // namespace hoplite::planner

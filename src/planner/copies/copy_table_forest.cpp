// Forests: versions whose groups are trees over the same receivers, each inner in one of them.
#include <algorithm>

#include "planner/copies/copy_table.h"

namespace hoplite::planner {

void CopyTable::Cut(std::size_t groups) {
  for (const auto& [node, copy] : copies_) Unindex(node, copy);
  groups_ = StripeGroups::Forest(groups, layout_, groups_.origin(0));
  for (auto& [node, copy] : copies_) Regroup(copy);
  for (const auto& [node, copy] : copies_) Index(node, copy);
}

// It stands in each group where it stood in the one; what it serves is counted by group.
void CopyTable::Regroup(Copy& copy) const {
  if (!copy.flows) return;
  Flow& flow = *copy.flows;
  Place stood = flow.places[0];
  stood.used = stood.leaves = stood.absent = 0;
  for (std::size_t group = group_count(); group-- > 0;) flow.places.Make(group) = stood;
  for (const GrantId grant : flow.serving) {
    const OpenGrant& open = grants().at(grant);
    ForGroups(open.stripes, [&](std::size_t group, StripeMask part) {
      CountUnits(flow.places.Make(group), open, Count(part));
    });
  }
}

Home CopyTable::HomeIn(std::size_t group, const Copy& copy) const {
  if (!forest() || copy.home == kNoHome) return Home::kNone;
  return copy.home == group ? Home::kHere : Home::kElsewhere;
}

std::uint32_t CopyTable::LoadIn(std::size_t group, const Copy& copy) const {
  const Place& here = copy.place(group);
  if (!forest()) return here.used;
  const std::uint32_t all = copy.flow().units();
  const bool everywhere = copy.home == kNoHome || copy.final();
  if (!everywhere) return all;
  return std::max(all, (here.used - here.absent) * static_cast<std::uint32_t>(group_count()));
}

std::uint32_t CopyTable::LimitOf(std::size_t group, const Copy& copy) const {
  if (!forest()) return copy.place(group).limit;
  std::uint32_t most = 0;
  copy.flow().places.ForEach([&](const Place& at) { most = std::max(most, at.limit); });
  return most;
}

bool CopyTable::IsSoonAhead(std::size_t group, const Copy& receiver, const Copy& source,
                            Duration soon) const {
  const Time own = receiver.place(group).lag;
  const Time its = source.place(group).lag;
  return forest() && own != Time{} && its != Time{} && its <= own + soon;
}

void CopyTable::NoteLate(const OpenGrant& refused, Duration by) {
  const Copy* receiver = Find(refused.receiver);
  const Copy* source = Find(refused.source);
  if (!forest() || receiver == nullptr || source == nullptr || source->final()) return;
  const Flow& reads = receiver->flow();
  Edit(refused.source, [&](Copy& late) {
    ForGroups(refused.stripes, [&](std::size_t group, StripeMask) {
      Place& place = late.flows.Make().places.Make(group);
      place.lag = std::max(place.lag, reads.places[group].lag + by);
    });
  });
}

// The streams go on until they end, but who died needs nothing: what it took others can have.
void CopyTable::CountAbsent(const Copy& receiver) {
  for (const Feed& feed : receiver.flow().feeds) {
    if (feed.lost() || !copies_.contains(feed.source)) continue;
    const OpenGrant& open = grants().at(feed.grant);
    if (open.leaf) continue;
    Edit(feed.source, [&](Copy& source) {
      ForGroups(open.stripes, [&](std::size_t group, StripeMask part) {
        Place& place = source.flows->places.Make(group);
        place.absent += receiver.live ? -Count(part) : Count(part);
      });
      // Others may have been taken on meanwhile.
      if (!forest() || !receiver.live) return;
      const std::uint32_t units = source.flows->units();
      source.flows->places.ForEach([&](Place& at) { at.limit = std::max(at.limit, units); });
    });
  }
}

}  // namespace hoplite::planner

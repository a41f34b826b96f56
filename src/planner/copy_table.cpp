#include "planner/copy_table.h"

#include <algorithm>
#include <bit>

namespace hoplite::planner {
namespace {

// How far a chain is followed while streams run that aren't in the books. They end soon, one way or
// the other; until then doubt is cheaper than long walks.
constexpr int kFarthestSight = 64;

std::uint32_t& CountOf(Place& source, const OpenGrant& grant) {
  return grant.leaf ? source.leaves : source.used;
}

StripeMask Bit(std::uint32_t stripe) { return StripeMask{1} << stripe; }

std::uint32_t FirstOf(StripeMask stripes) {
  return static_cast<std::uint32_t>(std::countr_zero(stripes));
}

}  // namespace

const Copy* CopyTable::Find(NodeId node) const {
  const auto entry = copies_.find(node);
  return entry == copies_.end() ? nullptr : &entry->second;
}

std::size_t CopyTable::GroupOf(std::uint32_t stripe) const {
  std::size_t group = 0;
  while (group + 1 < group_count() && (stripes(group) >> stripe & 1) == 0) ++group;
  return group;
}

void CopyTable::SetOrigin(std::size_t group, NodeId origin) {
  if (origin == groups_.origin(group)) return;
  for (const auto& [node, copy] : copies_) Unindex(node, copy);
  groups_.SetOrigin(group, origin);
  for (const auto& [node, copy] : copies_) Index(node, copy);
}

const Copy& CopyTable::Add(NodeId node) {
  auto [entry, fresh] = copies_.try_emplace(node);
  if (!fresh) return entry->second;
  Copy& copy = entry->second;
  copy.marks = layout_.empty_marks();
  if (!knows_all_upstreams()) FindSourceOf(node, copy);
  if (copies_.size() > 1 && !shared_) Share();
  Index(node, copy);
  return copy;
}

// Grants that were adopted before their source was known find it now.
void CopyTable::FindSourceOf(NodeId node, Copy& copy) {
  auto& unrooted = streams_->unrooted;
  for (auto waiting = unrooted.lower_bound({node, GrantId{}});
       waiting != unrooted.end() && waiting->first == node; waiting = unrooted.erase(waiting)) {
    Flow& flow = copy.flows.Make();
    const OpenGrant& open = streams_->grants.at(waiting->second);
    Serve(flow, waiting->second, open, 0);
    ForGroups(open.stripes, [&](std::size_t group, StripeMask) {
      Place& place = flow.places.Make(group);
      place.limit = place.used;
    });
  }
}

// Who serves already keeps the limit under which it took that on.
void CopyTable::Serve(Flow& source, GrantId grant, const OpenGrant& what,
                      std::uint32_t limit) const {
  source.serving.insert(grant);
  ForGroups(what.stripes, [&](std::size_t group, StripeMask part) {
    Place& place = source.places.Make(group);
    const bool idle = place.used == 0 && place.leaves == 0;
    place.limit = idle ? limit : std::max(limit, place.limit);
    CountOf(place, what) += Count(part);
  });
}

void CopyTable::Rest() {
  streams_.DropIfEmpty();
  if (copies_.size() < 2) shared_.reset();
}

void CopyTable::Remove(NodeId node) {
  const Copy copy = copies_.at(node);
  for (const GrantId grant : copy.flow().serving) Orphan(grant);
  for (const Feed& feed : copy.flow().feeds) {
    if (!feed.lost()) Close(feed.grant);
  }
  Unindex(node, copies_.at(node));
  copies_.erase(node);
}

void CopyTable::Orphan(GrantId grant) {
  const OpenGrant lost = streams_->grants.at(grant);
  const Copy& source = copies_.at(lost.source);
  Close(grant);
  Edit(lost.receiver, [&](Copy& receiver) {
    ForGroups(lost.stripes, [&](std::size_t group, StripeMask part) {
      if ((receiver.parked() & stripes(group)) == 0) return;
      Flow& flow = receiver.flows.Make();
      flow.places.Make(group).orphan = true;
      flow.Lose({.stripes = part,
                 .superseded = grant,
                 .lost_source = lost.source,
                 .fallback = UpstreamOf(source, FirstOf(part))});
    });
  });
}

void CopyTable::NoteFailed(const OpenGrant& failed) {
  const Copy* source = Find(failed.source);
  Edit(failed.receiver, [&](Copy& receiver) {
    ForGroups(failed.stripes, [&](std::size_t group, StripeMask part) {
      Flow& flow = receiver.flows.Make();
      flow.places.Make(group).orphan = true;
      const NodeId above = source != nullptr ? source->feed(FirstOf(part)).source : kNoNode;
      flow.Lose({.stripes = part, .fallback = above});
    });
  });
}

// A lost feed counts until its stream has ended.
NodeId CopyTable::UpstreamOf(const Copy& copy, std::uint32_t stripe) const {
  const NodeId source = copy.feed(stripe).source;
  if (source != kNoNode) return source;
  const Feed* lost = copy.lost(Bit(stripe));
  if (lost == nullptr || !lost->superseded) return kNoNode;
  return copies_.contains(lost->lost_source) ? lost->lost_source : lost->fallback;
}

void CopyTable::Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit) {
  streams_.Make().grants.emplace(grant, what);
  if (copies_.contains(what.source)) {
    Edit(what.source, [&](Copy& source) { Serve(source.flows.Make(), grant, what, limit); });
  } else {
    streams_->unrooted.insert({what.source, grant});
  }
  Edit(what.receiver, [&](Copy& receiver) {
    Flow& flow = receiver.flows.Make();
    flow.Insert({.grant = grant, .source = what.source, .stripes = what.stripes});
    flow.fed |= what.stripes;
    receiver.listed = !receiver.leaf;
    ForGroups(what.stripes, [&](std::size_t group, StripeMask) {
      Place& place = flow.places.Make(group);
      place.lag = std::max(lag, place.lag);
      if ((receiver.parked() & stripes(group)) != 0) return;
      place.orphan = false;
      flow.ForgetLost(stripes(group));
    });
  });
}

void CopyTable::Close(GrantId grant) {
  if (!streams_) return;
  const auto entry = streams_->grants.find(grant);
  if (entry == streams_->grants.end()) return;
  const OpenGrant closed = entry->second;
  streams_->grants.erase(entry);
  Edit(closed.receiver, [&](Copy& receiver) {
    Flow& flow = *receiver.flows;
    std::erase_if(flow.feeds, [&](const Feed& feed) { return feed.grant == grant; });
    flow.fed &= ~closed.stripes;
  });
  if (streams_->unrooted.erase({closed.source, grant}) > 0) return;
  Edit(closed.source, [&](Copy& source) {
    source.flows->serving.erase(grant);
    ForGroups(closed.stripes, [&](std::size_t group, StripeMask part) {
      CountOf(source.flows->places.Make(group), closed) -= Count(part);
    });
  });
}

void CopyTable::RaiseMarks(NodeId node, const StripeMarks& marks) {
  const Copy* copy = Find(node);
  if (copy == nullptr || !layout_.valid(marks)) return;
  Edit(node, [&](Copy& raised) {
    for (std::size_t s = 0; s < marks.size(); ++s) {
      raised.marks[s] = std::max(raised.marks[s], marks[s]);
    }
  });
}

void CopyTable::LowerMarks(NodeId source, const StripeMarks& receivers, const OpenGrant& refused) {
  const Copy* copy = Find(source);
  if (copy == nullptr || copy->complete || !layout_.valid(receivers)) return;
  Edit(source, [&](Copy& lowered) {
    for (const std::uint32_t stripe : StripesOf(refused.stripes & ~lowered.produces)) {
      const std::uint32_t has = receivers[stripe];
      const std::uint32_t most = refused.equality_ok && has > 0 ? has - 1 : has;
      lowered.marks[stripe] = std::min(lowered.marks[stripe], most);
    }
  });
}

void CopyTable::RaiseFrom(NodeId source, const StripeMarks& sent, StripeMask stripes) {
  for (const std::uint32_t stripe : StripesOf(stripes)) {
    NodeId at = source;
    // Ends at the first that is known to have as much; no chain is longer than the table.
    for (std::size_t step = 0; step < copies_.size(); ++step) {
      const Copy* copy = Find(at);
      if (copy == nullptr || copy->FinalIn(Bit(stripe))) break;
      if (copy->marks[stripe] >= sent[stripe]) break;
      Edit(at, [&](Copy& raised) { raised.marks[stripe] = sent[stripe]; });
      at = copy->feed(stripe).source;
    }
  }
}

GrantId CopyTable::AdoptedBy(NodeId receiver, GrantId known_as) const {
  for (const Feed& feed : copies_.at(receiver).flow().feeds) {
    if (feed.lost()) continue;
    const OpenGrant& open = streams_->grants.at(feed.grant);
    if (open.adopted && open.known_as == known_as) return feed.grant;
  }
  return {};
}

bool CopyTable::DependsOn(NodeId node, NodeId on, StripeMask stripes) const {
  for (const std::uint32_t stripe : StripesOf(stripes)) {
    NodeId at = node;
    for (std::size_t step = 0; step <= copies_.size(); ++step) {
      if (at == on) return true;
      const Copy* copy = Find(at);
      // Who is final waits for nobody, even while its last stream is not yet closed in the books.
      if (copy == nullptr || copy->FinalIn(Bit(stripe))) break;
      at = copy->feed(stripe).source;
    }
  }
  return false;
}

bool CopyTable::MayDependOn(NodeId node, NodeId on, StripeMask stripes) const {
  for (const std::uint32_t stripe : StripesOf(stripes)) {
    NodeId at = node;
    for (int step = 0; at != kNoNode; ++step) {
      const Copy* copy = Find(at);
      if (at == on || copy == nullptr || step == kFarthestSight) return true;
      at = copy->FinalIn(Bit(stripe)) ? kNoNode : UpstreamOf(*copy, stripe);
    }
  }
  return false;
}

StripeMask CopyTable::Missing(const StripeMarks& marks, StripeMask among) const {
  StripeMask missing = 0;
  for (const std::uint32_t stripe : StripesOf(among)) {
    if (!layout_.valid(marks) || marks[stripe] < layout_.stripe_block_count(stripe)) {
      missing |= Bit(stripe);
    }
  }
  return missing != 0 ? missing : among;
}

}  // namespace hoplite::planner

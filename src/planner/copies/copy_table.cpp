#include "planner/copies/copy_table.h"

#include <algorithm>
#include <bit>

namespace hoplite::planner {
namespace {

// How far a chain is followed while streams run that aren't in the books. They end soon, one way or
// the other; until then doubt is cheaper than long walks.
constexpr std::size_t kFarthestSight = 64;

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
    Serve(flow, waiting->second, open, open.stripes, 0);
    ForGroups(open.stripes, [&](std::size_t group, StripeMask) {
      Place& place = flow.places.Make(group);
      place.limit = place.used;
    });
  }
}

void CopyTable::CountUnits(Place& source, const OpenGrant& grant, std::uint32_t more) const {
  if (grant.leaf) {
    source.leaves += more;
    return;
  }
  source.used += more;
  if (!copies_.at(grant.receiver).live) source.absent += more;
}

// Who serves already keeps the limit under which it took that on.
void CopyTable::Serve(Flow& source, GrantId grant, const OpenGrant& what, StripeMask part,
                      std::uint32_t limit) const {
  source.serving.insert(grant);
  ForGroups(part, [&](std::size_t group, StripeMask in_group) {
    Place& place = source.places.Make(group);
    const bool idle = place.used == 0 && place.leaves == 0;
    place.limit = idle ? limit : std::max(limit, place.limit);
    CountUnits(place, what, Count(in_group));
  });
}

void CopyTable::Take(Copy& receiver, GrantId grant, const OpenGrant& what, StripeMask part,
                     Time lag) const {
  Flow& flow = receiver.flows.Make();
  std::erase_if(flow.feeds, [&](const Feed& feed) { return feed.grant == grant; });
  flow.Insert({.grant = grant, .source = what.source, .stripes = what.stripes});
  flow.fed |= part;
  receiver.listed = !receiver.leaf;
  ForGroups(part, [&](std::size_t group, StripeMask) {
    Place& place = flow.places.Make(group);
    place.lag = std::max(lag, place.lag);
    if ((receiver.parked() & stripes(group)) != 0) return;
    place.orphan = false;
    flow.ForgetLost(stripes(group));
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
  const Feed& feed = copies_.at(lost.receiver).feed(FirstOf(lost.stripes));
  const NodeId moved_from = feed.superseded ? feed.lost_source : kNoNode;
  Close(grant);
  Edit(lost.receiver, [&](Copy& receiver) {
    ForGroups(lost.stripes, [&](std::size_t group, StripeMask part) {
      if ((receiver.parked() & stripes(group)) == 0) return;
      Flow& flow = receiver.flows.Make();
      flow.places.Make(group).orphan = true;
      flow.Lose({.stripes = part,
                 .superseded = grant,
                 .lost_source = moved_from == kNoNode ? lost.source : moved_from,
                 .fallback = UpstreamOf(source, FirstOf(part)),
                 .moved = moved_from != kNoNode});
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

void CopyTable::NoteStray(NodeId receiver, NodeId source, GrantId known_as, StripeMask stripes) {
  Edit(receiver, [&](Copy& copy) {
    ForGroups(stripes, [&](std::size_t group, StripeMask part) {
      Flow& flow = copy.flows.Make();
      flow.places.Make(group).orphan = true;
      flow.Lose({.stripes = part, .superseded = known_as, .lost_source = source});
    });
  });
}

void CopyTable::NoteMoved(GrantId grant, GrantId replaced, NodeId source) {
  Edit(streams_->grants.at(grant).receiver, [&](Copy& receiver) {
    for (Feed& feed : receiver.flows->feeds) {
      if (feed.grant != grant) continue;
      feed.superseded = replaced;
      feed.lost_source = source;
      feed.moved = true;
    }
  });
}

NodeId CopyTable::UpstreamOf(const Copy& copy, std::uint32_t stripe) const {
  const NodeId source = copy.feed(stripe).source;
  if (source != kNoNode) return source;
  const Feed* lost = copy.lost(BitOf(stripe));
  if (lost == nullptr || !lost->superseded) return kNoNode;  // its stream has ended
  return copies_.contains(lost->lost_source) ? lost->lost_source : lost->fallback;
}

void CopyTable::Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit) {
  streams_.Make().grants.emplace(grant, what);
  if (copies_.contains(what.source)) {
    Edit(what.source,
         [&](Copy& source) { Serve(source.flows.Make(), grant, what, what.stripes, limit); });
  } else {
    streams_->unrooted.insert({what.source, grant});
  }
  Edit(what.receiver, [&](Copy& receiver) { Take(receiver, grant, what, what.stripes, lag); });
}

void CopyTable::Extend(GrantId grant, StripeMask stripes, Time lag, std::uint32_t limit) {
  OpenGrant& what = streams_->grants.at(grant);
  what.stripes |= stripes;
  Edit(what.source, [&](Copy& source) { Serve(source.flows.Make(), grant, what, stripes, limit); });
  Edit(what.receiver, [&](Copy& receiver) { Take(receiver, grant, what, stripes, lag); });
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
      CountUnits(source.flows->places.Make(group), closed, -Count(part));
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
    raised.has_all |= layout_.complete(marks);
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
      if (copy == nullptr || copy->FinalIn(BitOf(stripe))) break;
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

CopyTable::Chain CopyTable::Chains::Next() {
  Chain chain = left_.back();
  left_.pop_back();
  if (!fork_) return chain;
  StripeMask& followed = followed_[chain.at];
  const StripeMask all = chain.stripes;
  chain.stripes &= ~followed;
  followed |= all;
  return chain;
}

void CopyTable::Chains::Add(const Feed& feed, StripeMask part, std::size_t steps) {
  left_.push_back({feed.source, part, steps});
  if (!feed.superseded) return;
  left_.push_back({feed.lost_source, part, steps});
  fork_ = true;
}

// Who is final waits for nobody, even while its last stream is not yet closed in the books. Stripes
// that one feed brings are followed together.
StripeMask CopyTable::DependsOn(NodeId node, NodeId on, StripeMask stripes) const {
  StripeMask depends = 0;
  Chains chains({node, stripes});
  while (!chains.ended()) {
    const Chain chain = chains.Next();
    if (chain.at == on) depends |= chain.stripes;
    const Copy* copy = Find(chain.at);
    if (chain.at == on || copy == nullptr || chain.steps > copies_.size()) continue;
    const StripeMask open = chain.stripes & ~copy->final_stripes();
    for (const Feed& feed : copy->flow().feeds) {
      const StripeMask part = feed.stripes & open;
      if (part == 0) continue;
      chains.Add(feed, part, chain.steps + 1);
    }
  }
  return depends;
}

std::map<NodeId, StripeMask> CopyTable::Behind(NodeId node, StripeMask stripes) const {
  std::map<NodeId, StripeMask> behind;
  std::vector<std::pair<NodeId, StripeMask>> left{{node, stripes}};
  while (!left.empty()) {
    const auto [at, passed] = left.back();
    left.pop_back();
    for (const GrantId& served : Find(at)->flow().serving) {
      const OpenGrant& grant = streams_->grants.at(served);
      StripeMask& gets = behind[grant.receiver];
      const StripeMask more =
          grant.stripes & passed & ~Find(grant.receiver)->final_stripes() & ~gets;
      gets |= more;
      if (more != 0) left.emplace_back(grant.receiver, more);
    }
  }
  return behind;
}

StripeMask CopyTable::MayDependOn(NodeId node, NodeId on, StripeMask stripes) const {
  StripeMask depends = 0;
  Chains chains({node, stripes});
  while (!chains.ended()) {
    const Chain chain = chains.Next();
    const Copy* copy = Find(chain.at);
    if (chain.at == on || copy == nullptr || chain.steps == kFarthestSight) {
      depends |= chain.stripes;
      continue;
    }
    StripeMask open = chain.stripes & ~copy->final_stripes();
    for (const bool lost : {false, true}) {  // a lost feed counts where there is no other
      for (const Feed& feed : copy->flow().feeds) {
        const StripeMask part = feed.stripes & open;
        if (feed.lost() != lost || part == 0) continue;
        open &= ~feed.stripes;
        if (lost) {  // its source left the books: nobody knows from where that gets bytes by now
          if (feed.superseded) depends |= part;
          continue;
        }
        chains.Add(feed, part, chain.steps + 1);
      }
    }
  }
  return depends;
}

StripeMask CopyTable::Missing(const StripeMarks& marks, StripeMask among) const {
  const StripeMask missing = layout_.missing(marks) & among;
  return missing != 0 ? missing : WithBlocks(among);
}

StripeMask CopyTable::WithBlocks(StripeMask among) const {
  const StripeMask some = layout_.missing(layout_.empty_marks()) & among;
  return some != 0 ? some : among;
}

}  // namespace hoplite::planner

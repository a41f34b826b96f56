#include "planner/copy_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace hoplite::planner {
namespace {

// How far a chain is followed while streams run that aren't in the books. They end soon, one way or
// the other; until then doubt is cheaper than long walks.
constexpr int kFarthestSight = 64;

std::uint32_t& CountOf(Flow& source, const OpenGrant& grant) {
  return grant.leaf ? source.leaves : source.used;
}

}  // namespace

std::vector<std::uint32_t> StripesOf(StripeMask mask) {
  std::vector<std::uint32_t> stripes;
  for (; mask != 0; mask &= mask - 1) {
    stripes.push_back(static_cast<std::uint32_t>(std::countr_zero(mask)));
  }
  return stripes;
}

std::uint64_t Copy::progress() const {
  return std::accumulate(marks.begin(), marks.end(), std::uint64_t{0});
}

Time Copy::lag() const {
  const std::vector<Feed>& feeds = flow().feeds;
  return feeds.empty() ? Time{} : std::ranges::max(feeds, {}, &Feed::lag).lag;
}

const Feed& Copy::feed(std::size_t stripe) const {
  static const Feed none;
  const std::vector<Feed>& feeds = flow().feeds;
  return feeds.empty() ? none : feeds[stripe];
}

void Copy::ForgetSuperseded() {
  if (flows) flows->superseded = {};
}

void Copy::Rest() {
  if (!flows || !final()) return;
  if (flows->fed == 0 && flows->serving.empty() && !flows->superseded) flows.reset();
}

const Copy* CopyTable::Find(NodeId node) const {
  const auto entry = copies_.find(node);
  return entry == copies_.end() ? nullptr : &entry->second;
}

void CopyTable::SetOrigin(NodeId origin) {
  if (origin == origin_) return;
  for (const auto& [node, copy] : copies_) Unindex(node, copy);
  origin_ = origin;
  for (const auto& [node, copy] : copies_) Index(node, copy);
}

const Copy& CopyTable::Add(NodeId node) {
  auto [entry, fresh] = copies_.try_emplace(node);
  if (!fresh) return entry->second;
  Copy& copy = entry->second;
  copy.marks = layout_.empty_marks();
  if (!knows_all_upstreams()) FindSourceOf(node, copy);
  if (copies_.size() > 1 && !sources_) IndexSources();
  Index(node, copy);
  return copy;
}

// Grants that were adopted before their source was known find it now.
void CopyTable::FindSourceOf(NodeId node, Copy& copy) {
  auto& unrooted = streams_->unrooted;
  for (auto waiting = unrooted.lower_bound({node, GrantId{}});
       waiting != unrooted.end() && waiting->first == node; waiting = unrooted.erase(waiting)) {
    Flow& flow = copy.flows.Make();
    flow.serving.insert(waiting->second);
    flow.used +=
        static_cast<std::uint32_t>(std::popcount(streams_->grants.at(waiting->second).stripes));
    flow.limit = flow.used;
  }
}

void CopyTable::Rest() {
  streams_.DropIfEmpty();
  if (copies_.size() < 2) sources_.reset();
}

void CopyTable::Remove(NodeId node) {
  const Copy copy = copies_.at(node);
  for (const GrantId grant : copy.flow().serving) Orphan(grant);
  for (const Feed& feed : copy.flow().feeds) {
    if (feed.grant) Close(feed.grant);
  }
  Unindex(node, copies_.at(node));
  copies_.erase(node);
}

void CopyTable::Orphan(GrantId grant) {
  const OpenGrant lost = streams_->grants.at(grant);
  const Copy& source = copies_.at(lost.source);
  const auto stripe = static_cast<std::uint32_t>(std::countr_zero(lost.stripes));
  const NodeId fallback = UpstreamOf(source, stripe);
  Close(grant);
  Edit(lost.receiver, [&](Copy& receiver) {
    if (receiver.parked() == 0) return;
    receiver.orphan = true;
    Flow& flow = receiver.flows.Make();
    flow.superseded = grant;
    flow.lost_source = lost.source;
    flow.fallback = fallback;
  });
}

NodeId CopyTable::UpstreamOf(const Copy& copy, std::uint32_t stripe) const {
  const NodeId source = copy.feed(stripe).source;
  const Flow& flow = copy.flow();
  if (source != kNoNode || !flow.superseded) return source;
  return copies_.contains(flow.lost_source) ? flow.lost_source : flow.fallback;
}

void CopyTable::Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit) {
  streams_.Make().grants.emplace(grant, what);
  if (copies_.contains(what.source)) {
    Edit(what.source, [&](Copy& source) {
      Flow& flow = source.flows.Make();
      // Who serves already keeps the limit under which it took that on.
      flow.limit = flow.serving.empty() ? limit : std::max(limit, flow.limit);
      flow.serving.insert(grant);
      CountOf(flow, what) += static_cast<std::uint32_t>(std::popcount(what.stripes));
    });
  } else {
    streams_->unrooted.insert({what.source, grant});
  }
  Edit(what.receiver, [&](Copy& receiver) {
    Flow& flow = receiver.flows.Make();
    flow.feeds.resize(layout_.stripe_count);
    for (const std::uint32_t stripe : StripesOf(what.stripes)) {
      Feed& feed = flow.feeds[stripe];
      feed = {grant, what.source, std::max(lag, feed.lag)};
    }
    flow.fed |= what.stripes;
    receiver.listed = !receiver.leaf;
    if (receiver.parked() == 0) {
      receiver.orphan = false;
      flow.superseded = {};
    }
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
    for (const std::uint32_t stripe : StripesOf(closed.stripes)) {
      flow.feeds[stripe].grant = {};
      flow.feeds[stripe].source = kNoNode;
    }
    flow.fed &= ~closed.stripes;
  });
  if (streams_->unrooted.erase({closed.source, grant}) > 0) return;
  Edit(closed.source, [&](Copy& source) {
    source.flows->serving.erase(grant);
    CountOf(*source.flows, closed) -= static_cast<std::uint32_t>(std::popcount(closed.stripes));
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
  if (copy == nullptr || copy->final() || !layout_.valid(receivers)) return;
  Edit(source, [&](Copy& lowered) {
    for (const std::uint32_t stripe : StripesOf(refused.stripes)) {
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
      if (copy == nullptr || copy->final() || copy->marks[stripe] >= sent[stripe]) break;
      Edit(at, [&](Copy& raised) { raised.marks[stripe] = sent[stripe]; });
      at = copy->feed(stripe).source;
    }
  }
}

GrantId CopyTable::AdoptedBy(NodeId receiver) const {
  for (const Feed& feed : copies_.at(receiver).flow().feeds) {
    if (feed.grant && streams_->grants.at(feed.grant).adopted) return feed.grant;
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
      if (copy == nullptr || copy->final()) break;
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
      at = copy->final() ? kNoNode : UpstreamOf(*copy, stripe);
    }
  }
  return false;
}

StripeMask CopyTable::Missing(const StripeMarks& marks, StripeMask among) const {
  StripeMask missing = 0;
  for (const std::uint32_t stripe : StripesOf(among)) {
    if (!layout_.valid(marks) || marks[stripe] < layout_.stripe_block_count(stripe)) {
      missing |= StripeMask{1} << stripe;
    }
  }
  return missing != 0 ? missing : among;
}

SourceKey CopyTable::KeyOfSource(NodeId node, const Copy& copy) {
  if (copy.final()) return {false, copy.flow().used, Time{}, 0, node};
  return {true, copy.flow().used, copy.lag(), copy.order, node};
}

ParkedKey CopyTable::KeyOfParked(NodeId node, const Copy& copy) const {
  return {!copy.orphan && !copy.leaf, std::numeric_limits<std::uint64_t>::max() - copy.progress(),
          copy.slot, DistanceOf(node), node};
}

ProgressKey CopyTable::KeyOfProgress(NodeId node, const Copy& copy) const {
  return {copy.progress(), std::numeric_limits<std::uint32_t>::max() - copy.slot,
          std::numeric_limits<std::uint64_t>::max() - DistanceOf(node), node};
}

bool CopyTable::IsSource(const Copy& copy) { return copy.live && copy.listed && !copy.evicting; }

OneOrSet<SourceKey> CopyTable::sources() const {
  if (sources_) return OneOrSet<SourceKey>(*sources_);
  const auto only = copies_.begin();
  if (only == copies_.end() || !IsSource(only->second)) return {};
  return OneOrSet<SourceKey>(KeyOfSource(only->first, only->second));
}

// The first copy is not the only one any more.
void CopyTable::IndexSources() {
  std::set<SourceKey>& sources = sources_.Make();
  for (const auto& [node, copy] : copies_) {
    if (IsSource(copy)) sources.insert(KeyOfSource(node, copy));
  }
}

void CopyTable::Index(NodeId node, const Copy& copy) {
  if (sources_ && IsSource(copy)) sources_->insert(KeyOfSource(node, copy));
  if (copy.live && copy.parked() != 0) streams_.Make().parked.insert(KeyOfParked(node, copy));
  const bool fed = copy.live && copy.fed() != 0 && !copy.final();
  if (fed && !copy.leaf) streams_.Make().feeding.insert(KeyOfProgress(node, copy));
  if (fed && copy.starved) streams_.Make().starved.insert(node);
  if (copy.flow().superseded) ++streams_.Make().superseded;
  if (copy.final()) ++final_count_;
  if (copy.final() && copy.live) ++live_final_count_;
}

void CopyTable::Unindex(NodeId node, const Copy& copy) {
  if (sources_) sources_->erase(KeyOfSource(node, copy));
  if (streams_) {
    streams_->parked.erase(KeyOfParked(node, copy));
    streams_->feeding.erase(KeyOfProgress(node, copy));
    streams_->starved.erase(node);
    if (copy.flow().superseded) --streams_->superseded;
  }
  if (copy.final()) --final_count_;
  if (copy.final() && copy.live) --live_final_count_;
}

}  // namespace hoplite::planner

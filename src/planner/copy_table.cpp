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

std::uint32_t& CountOf(Copy& source, const OpenGrant& grant) {
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
  return feeds.empty() ? Time{} : std::ranges::max(feeds, {}, &Feed::lag).lag;
}

const Feed& Copy::feed(std::size_t stripe) const {
  static const Feed none;
  return feeds.empty() ? none : feeds[stripe];
}

const Copy* CopyTable::Find(NodeId node) const {
  const auto entry = copies_.find(node);
  return entry == copies_.end() ? nullptr : &entry->second;
}

const Copy& CopyTable::Add(NodeId node) {
  auto [entry, fresh] = copies_.try_emplace(node);
  if (!fresh) return entry->second;
  Copy& copy = entry->second;
  copy.marks = layout_.empty_marks();
  if (unrooted_) FindSourceOf(node, copy);
  copy.limit = copy.used;
  Index(node, copy);
  return copy;
}

// Grants that were adopted before their source was known find it now.
void CopyTable::FindSourceOf(NodeId node, Copy& copy) {
  for (auto waiting = unrooted_->lower_bound({node, GrantId{}});
       waiting != unrooted_->end() && waiting->first == node; waiting = unrooted_->erase(waiting)) {
    copy.serving.insert(waiting->second);
    copy.used += static_cast<std::uint32_t>(std::popcount(grants_->at(waiting->second).stripes));
  }
}

void CopyTable::Rest() {
  grants_.DropIfEmpty();
  unrooted_.DropIfEmpty();
  sources_.Shrink();
  parked_.DropIfEmpty();
  feeding_.DropIfEmpty();
  starved_.DropIfEmpty();
}

void CopyTable::Remove(NodeId node) {
  const Copy copy = copies_.at(node);
  for (const GrantId grant : copy.serving) Orphan(grant);
  for (const Feed& feed : copy.feeds) {
    if (feed.grant) Close(feed.grant);
  }
  Unindex(node, copies_.at(node));
  copies_.erase(node);
}

void CopyTable::Orphan(GrantId grant) {
  const OpenGrant lost = grants_->at(grant);
  const Copy& source = copies_.at(lost.source);
  const auto stripe = static_cast<std::uint32_t>(std::countr_zero(lost.stripes));
  const NodeId fallback = UpstreamOf(source, stripe);
  Close(grant);
  Edit(lost.receiver, [&](Copy& receiver) {
    if (receiver.parked() == 0) return;
    receiver.orphan = true;
    receiver.superseded = grant;
    receiver.lost_source = lost.source;
    receiver.fallback = fallback;
  });
}

NodeId CopyTable::UpstreamOf(const Copy& copy, std::uint32_t stripe) const {
  const NodeId source = copy.feed(stripe).source;
  if (source != kNoNode || !copy.superseded) return source;
  return copies_.contains(copy.lost_source) ? copy.lost_source : copy.fallback;
}

void CopyTable::Open(GrantId grant, const OpenGrant& what, Time lag, std::uint32_t limit) {
  grants_.Make().emplace(grant, what);
  if (copies_.contains(what.source)) {
    Edit(what.source, [&](Copy& source) {
      // Who serves already keeps the limit under which it took that on.
      source.limit = source.serving.empty() ? limit : std::max(limit, source.limit);
      source.serving.insert(grant);
      CountOf(source, what) += static_cast<std::uint32_t>(std::popcount(what.stripes));
    });
  } else {
    unrooted_.Make().insert({what.source, grant});
  }
  Edit(what.receiver, [&](Copy& receiver) {
    receiver.feeds.resize(layout_.stripe_count);
    for (const std::uint32_t stripe : StripesOf(what.stripes)) {
      Feed& feed = receiver.feeds[stripe];
      feed = {grant, what.source, std::max(lag, feed.lag)};
    }
    receiver.fed |= what.stripes;
    receiver.listed = !receiver.leaf;
    if (receiver.parked() == 0) {
      receiver.orphan = false;
      receiver.superseded = {};
    }
  });
}

void CopyTable::Close(GrantId grant) {
  if (!grants_) return;
  const auto entry = grants_->find(grant);
  if (entry == grants_->end()) return;
  const OpenGrant closed = entry->second;
  grants_->erase(entry);
  Edit(closed.receiver, [&](Copy& receiver) {
    for (const std::uint32_t stripe : StripesOf(closed.stripes)) {
      receiver.feeds[stripe].grant = {};
      receiver.feeds[stripe].source = kNoNode;
    }
    receiver.fed &= ~closed.stripes;
  });
  if (unrooted_ && unrooted_->erase({closed.source, grant}) > 0) return;
  Edit(closed.source, [&](Copy& source) {
    source.serving.erase(grant);
    CountOf(source, closed) -= static_cast<std::uint32_t>(std::popcount(closed.stripes));
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
  for (const Feed& feed : copies_.at(receiver).feeds) {
    if (feed.grant && grants_->at(feed.grant).adopted) return feed.grant;
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
  if (copy.final()) return {false, copy.used, Time{}, 0, node};
  return {true, copy.used, copy.lag(), copy.order, node};
}

ParkedKey CopyTable::KeyOfParked(NodeId node, const Copy& copy) {
  return {!copy.orphan && !copy.leaf, std::numeric_limits<std::uint64_t>::max() - copy.progress(),
          copy.position, copy.order, node};
}

ProgressKey CopyTable::KeyOfProgress(NodeId node, const Copy& copy) {
  return {copy.progress(), std::numeric_limits<std::uint32_t>::max() - copy.position, node};
}

void CopyTable::Index(NodeId node, const Copy& copy) {
  if (copy.live && copy.listed && !copy.evicting) sources_.insert(KeyOfSource(node, copy));
  if (copy.live && copy.parked() != 0) parked_.Make().insert(KeyOfParked(node, copy));
  const bool fed = copy.live && copy.fed != 0 && !copy.final();
  if (fed && !copy.leaf) feeding_.Make().insert(KeyOfProgress(node, copy));
  if (fed && copy.starved) starved_.Make().insert(node);
  if (copy.superseded) ++superseded_count_;
  if (copy.final()) ++final_count_;
  if (copy.final() && copy.live) ++live_final_count_;
}

void CopyTable::Unindex(NodeId node, const Copy& copy) {
  sources_.erase(KeyOfSource(node, copy));
  if (parked_) parked_->erase(KeyOfParked(node, copy));
  if (feeding_) feeding_->erase(KeyOfProgress(node, copy));
  if (starved_) starved_->erase(node);
  if (copy.superseded) --superseded_count_;
  if (copy.final()) --final_count_;
  if (copy.final() && copy.live) --live_final_count_;
}

}  // namespace hoplite::planner

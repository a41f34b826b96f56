// The structural invariants of a CopyTable (numbered in README.md), and its part of the
// fingerprint.
#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "planner/copy_table.h"

namespace hoplite::planner {

std::string CopyTable::BrokenInvariant() const {
  if (std::string broken = BrokenCopies(); !broken.empty()) return broken;
  if (std::string broken = BrokenGrants(); !broken.empty()) return broken;
  if (std::string broken = BrokenIndexes(); !broken.empty()) return broken;
  for (std::uint32_t stripe = 0; stripe < layout_.stripe_count; ++stripe) {
    if (std::string broken = Cycle(stripe); !broken.empty()) return broken;
  }
  return {};
}

std::string CopyTable::BrokenCopies() const {
  for (const auto& [node, copy] : copies_) {
    std::uint32_t used = 0;
    std::uint32_t leaves = 0;
    const Flow& flow = copy.flow();
    for (const GrantId grant : flow.serving) {
      const auto open = grants().find(grant);
      if (open == grants().end() || open->second.source != node) {
        return fmt::format("S2: {} serves grant {} that isn't its own", ToString(node),
                           ToString(grant));
      }
      (open->second.leaf ? leaves : used) +=
          static_cast<std::uint32_t>(std::popcount(open->second.stripes));
    }
    if (used != flow.used || leaves != flow.leaves) {
      return fmt::format("S2: {} has {} units in use and {} by leaves, its grants need {} and {}",
                         ToString(node), flow.used, flow.leaves, used, leaves);
    }
    if (leaves > layout_.stripe_count)
      return fmt::format("P1: {} serves two leaves", ToString(node));
    if (copy.leaf && copy.listed) return fmt::format("S5: {} is a leaf and listed", ToString(node));
    if (flow.used > flow.limit + layout_.stripe_count) {
      return fmt::format("P1: {} uses {} units, {} and one receiver more are its limit",
                         ToString(node), flow.used, flow.limit);
    }
    if (!layout_.valid(copy.marks))
      return fmt::format("P3: {} has marks beyond the end", ToString(node));
    if ((copy.done & copy.parked()) != 0 || (flow.fed & copy.parked()) != 0) {
      return fmt::format("S1: {} has a stripe parked that is done or granted", ToString(node));
    }
    if (copy.listed && copy.order == 0) {
      return fmt::format("S5: {} is listed but never asked with memory reserved", ToString(node));
    }
  }
  return {};
}

std::string CopyTable::BrokenGrants() const {
  std::map<NodeId, StripeMask> fed;
  for (const auto& [grant, open] : grants()) {
    const Copy* receiver = Find(open.receiver);
    const Copy* source = Find(open.source);
    if (receiver == nullptr || (!receiver->listed && !receiver->leaf) || open.stripes == 0) {
      return fmt::format("S3: grant {} has no listed receiver and no leaf", ToString(grant));
    }
    const bool known = source != nullptr ? source->flow().serving.contains(grant)
                                         : streams_->unrooted.contains({open.source, grant});
    if (!known) return fmt::format("S3: grant {} has no source", ToString(grant));
    if ((fed[open.receiver] & open.stripes) != 0) {
      return fmt::format("S1: {} has a stripe granted twice", ToString(open.receiver));
    }
    fed[open.receiver] |= open.stripes;
    for (const std::uint32_t stripe : StripesOf(open.stripes)) {
      const Feed& feed = receiver->feed(stripe);
      if (feed.grant != grant || feed.source != open.source) {
        return fmt::format("S3: {} does not know grant {}", ToString(open.receiver),
                           ToString(grant));
      }
    }
  }
  for (const auto& [node, copy] : copies_) {
    if (copy.fed() != fed[node]) {
      return fmt::format("S1: {} counts stripes as granted that are not", ToString(node));
    }
  }
  return {};
}

std::string CopyTable::BrokenIndexes() const {
  CopyTable fresh(layout_, origin_);
  fresh.sources_.Make();
  for (const auto& [node, copy] : copies_) fresh.Index(node, copy);
  const bool same = std::ranges::equal(fresh.sources(), sources()) && fresh.parked() == parked() &&
                    fresh.feeding() == feeding() && fresh.starved() == starved() &&
                    fresh.final_count_ == final_count_ &&
                    fresh.live_final_count_ == live_final_count_ &&
                    fresh.streams_.OrEmpty().superseded == streams_.OrEmpty().superseded;
  return same ? std::string() : "S4: an index disagrees with the copies";
}

std::string CopyTable::Cycle(std::uint32_t stripe) const {
  std::map<NodeId, NodeId> walk_of;  // the start of the walk that came by
  for (const auto& [start, copy] : copies_) {
    NodeId at = start;
    for (const Copy* here = &copy; here != nullptr && !here->final(); here = Find(at)) {
      const auto [seen, fresh] = walk_of.try_emplace(at, start);
      if (!fresh && seen->second == start) {
        return fmt::format("P2: {} pulls stripe {} from its descendant {}", ToString(at), stripe,
                           ToString(here->feed(stripe).source));
      }
      if (!fresh) break;
      at = here->feed(stripe).source;
    }
  }
  return {};
}

void CopyTable::AddTo(Digest& digest) const {
  digest.Add(layout_.size_bytes).Add(layout_.block_bytes).Add(layout_.run_bytes);
  digest.Add(layout_.stripe_count).Add(Raw(origin_));
  for (const auto& [node, copy] : copies_) {
    digest.Add(Raw(node)).Add(copy.live).Add(copy.listed).Add(copy.complete).Add(copy.producing);
    digest.Add(copy.primary).Add(copy.evicting).Add(copy.orphan).Add(copy.starved);
    digest.Add(copy.leaf).Add(copy.slot);
    for (const std::uint32_t mark : copy.marks) digest.Add(mark);
    const Flow& flow = copy.flow();
    digest.Add(copy.wanted).Add(copy.done).Add(flow.limit).Add(copy.order);
    for (const Feed& feed : flow.feeds) {
      digest.Add(feed.grant).Add(Raw(feed.source)).Add(feed.lag);
    }
    digest.Add(Raw(flow.fallback)).Add(Raw(flow.lost_source)).Add(flow.superseded);
    digest.Add(flow.granted);
  }
  for (const auto& [grant, open] : grants()) {
    digest.Add(grant).Add(Raw(open.receiver)).Add(Raw(open.source)).Add(open.stripes);
    digest.Add(open.adopted).Add(open.leaf).Add(open.equality_ok);
  }
}

}  // namespace hoplite::planner

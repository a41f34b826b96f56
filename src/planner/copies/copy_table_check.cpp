// The structural invariants of a CopyTable (numbered in README.md), and its part of the
// fingerprint.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "planner/copies/copy_table.h"

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
    for (std::size_t group = 0; group < group_count(); ++group) {
      if (std::string broken = BrokenPlace(group, node, copy); !broken.empty()) return broken;
    }
    if (copy.leaf && copy.listed) return fmt::format("S5: {} is a leaf and listed", ToString(node));
    if (!layout_.valid(copy.marks))
      return fmt::format("P3: {} has marks beyond the end", ToString(node));
    if ((copy.done & copy.parked()) != 0 || (copy.fed() & copy.parked()) != 0) {
      return fmt::format("S1: {} has a stripe parked that is done or granted", ToString(node));
    }
    if (copy.listed && copy.order == 0) {
      return fmt::format("S5: {} is listed but never asked with memory reserved", ToString(node));
    }
  }
  return {};
}

// What its grants use of the copy in one group.
std::string CopyTable::BrokenPlace(std::size_t group, NodeId node, const Copy& copy) const {
  std::uint32_t used = 0;
  std::uint32_t leaves = 0;
  std::uint32_t absent = 0;
  for (const GrantId grant : copy.flow().serving) {
    const auto open = grants().find(grant);
    if (open == grants().end() || open->second.source != node) {
      return fmt::format("S2: {} serves grant {} that isn't its own", ToString(node),
                         ToString(grant));
    }
    const std::uint32_t units = Count(open->second.stripes & stripes(group));
    const Copy* receiver = Find(open->second.receiver);
    (open->second.leaf ? leaves : used) += units;
    if (receiver != nullptr && !receiver->live && !open->second.leaf) absent += units;
  }
  const Place& place = copy.place(group);
  if (used != place.used || leaves != place.leaves) {
    return fmt::format("S2: {} has {} units in use and {} by leaves, its grants need {} and {}",
                       ToString(node), place.used, place.leaves, used, leaves);
  }
  if (absent != place.absent) {
    return fmt::format("S2: {} serves {} units to absent receivers, not {}", ToString(node), absent,
                       place.absent);
  }
  const std::uint32_t receiver = Count(stripes(group));
  if (leaves > receiver) return fmt::format("P1: {} serves two leaves", ToString(node));
  const std::uint32_t units = forest() ? copy.flow().units() : used;
  if (units > LimitOf(group, copy) + receiver) {
    return fmt::format("P1: {} uses {} units, {} and one receiver more are its limit",
                       ToString(node), units, LimitOf(group, copy));
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
    for (const Feed& feed : copy.flow().feeds) {
      const auto open = grants().find(feed.grant);
      const bool known = open != grants().end() && open->second.receiver == node &&
                         open->second.stripes == feed.stripes;
      if (!feed.lost() && !known) {
        return fmt::format("S3: {} is fed by grant {}, which is not open", ToString(node),
                           ToString(feed.grant));
      }
    }
    if (copy.fed() != fed[node]) {
      return fmt::format("S1: {} counts stripes as granted that are not", ToString(node));
    }
  }
  return {};
}

std::string CopyTable::BrokenIndexes() const {
  CopyTable fresh(layout_, groups_);
  fresh.shared_.Make();
  for (const auto& [node, copy] : copies_) fresh.Index(node, copy);
  bool same = fresh.starved() == starved() &&
              fresh.streams_.OrEmpty().superseded == streams_.OrEmpty().superseded;
  for (std::size_t group = 0; group < group_count(); ++group) {
    same = same && std::ranges::equal(fresh.sources(group), sources(group)) &&
           fresh.index(group) == index(group) && fresh.finals(group) == finals(group);
  }
  return same ? std::string() : "S4: an index disagrees with the copies";
}

std::string CopyTable::Cycle(std::uint32_t stripe) const {
  std::map<NodeId, NodeId> walk_of;  // the start of the walk that came by
  for (const auto& [start, copy] : copies_) {
    NodeId at = start;
    const StripeMask bit = StripeMask{1} << stripe;
    for (const Copy* here = &copy; here != nullptr && !here->FinalIn(bit); here = Find(at)) {
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
  digest.Add(layout_.stripe_count);
  for (std::size_t group = 0; group < group_count(); ++group) {
    digest.Add(stripes(group)).Add(Raw(origin(group)));
  }
  for (const auto& [node, copy] : copies_) {
    digest.Add(Raw(node)).Add(copy.live).Add(copy.listed).Add(copy.complete).Add(copy.produces);
    digest.Add(copy.primary).Add(copy.evicting).Add(copy.starved).Add(copy.has_all).Add(copy.given);
    digest.Add(copy.leaf).Add(copy.on_disk).Add(copy.slot);
    if (forest()) digest.Add(copy.home);
    for (const std::uint32_t mark : copy.marks) digest.Add(mark);
    digest.Add(copy.wanted).Add(copy.done).Add(copy.order);
    for (const Feed& feed : copy.flow().feeds) {
      digest.Add(feed.grant).Add(Raw(feed.source)).Add(feed.stripes);
      digest.Add(feed.superseded).Add(Raw(feed.lost_source)).Add(Raw(feed.fallback));
    }
    for (std::size_t group = 0; group < group_count(); ++group) {
      const Place& place = copy.place(group);
      digest.Add(place.limit).Add(place.orphan).Add(place.lag).Add(place.granted);
    }
  }
  for (const auto& [grant, open] : grants()) {
    digest.Add(grant).Add(Raw(open.receiver)).Add(Raw(open.source)).Add(open.stripes);
    digest.Add(open.adopted).Add(open.leaf).Add(open.equality_ok).Add(open.known_as);
  }
}

}  // namespace hoplite::planner

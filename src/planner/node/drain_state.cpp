#include "planner/node/drain_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace hoplite::planner {
namespace {

// A question that a lost session swallowed is asked again.
constexpr Duration kAskAgain = std::chrono::seconds(1);
// While a taker fetches, the shard is asked whether it has the copy: soon, then less and less often.
constexpr Duration kFirstLook = std::chrono::milliseconds(4);
constexpr Duration kLastLook = std::chrono::milliseconds(64);
// More is not on its way at a time, so that at the deadline few copies are half done.
constexpr std::uint64_t kBytesAtATime = 256_MiB;
// A taker that has fetched nothing for so long is not waited for.
constexpr Duration kPatience = std::chrono::seconds(2);
// A copy that nobody takes is offered again after so long.
constexpr Duration kDrainRest = std::chrono::seconds(1);
// What nodes have free changes: it is asked again.
constexpr Duration kPeersAge = std::chrono::seconds(1);
constexpr Duration kPeersPatience = std::chrono::milliseconds(100);
constexpr std::size_t kNamedPeers = 5;

}  // namespace

void DrainState::Add(const Copy& copy, Time now) {
  const auto [at, added] = copies_.try_emplace(copy.object);
  One& one = at->second;
  if (!added && one.version == copy.version) return;
  if (!added) GiveUp(one);
  if (added) ++busy_;
  SetResting(one, false);
  one = One{.version = copy.version, .size_bytes = copy.size_bytes, .due = now};
}

void DrainState::Forget(const ObjectId& object) {
  const auto at = copies_.find(object);
  if (at == copies_.end()) return;
  Erase(at);
}

void DrainState::Erase(std::map<ObjectId, One>::iterator at) {
  GiveUp(at->second);
  if (!at->second.resting) --busy_;
  copies_.erase(at);
}

std::vector<ObjectId> DrainState::objects() const {
  std::vector<ObjectId> objects;
  objects.reserve(copies_.size());
  for (const auto& [object, one] : copies_) objects.push_back(object);
  return objects;
}

// Those that were named are fetching what they were promised: how much of it they have taken memory
// for is not known, so it counts in full.
void DrainState::OnPeers(std::vector<Peer> peers, Time now) {
  peers_ = std::move(peers);
  peers_told_ = now;
  promised_.clear();
  for (auto& [object, one] : copies_) {
    if (one.taker != kNoNode) promised_[one.taker] += one.size_bytes;
    if (one.last && one.taker == kNoNode && !one.resting) one.due = now;
  }
}

void DrainState::OnAnswer(const protocol::EvictAnswer& answer, Time now) {
  const auto at = copies_.find(answer.object);
  if (at == copies_.end() || at->second.version != answer.version) return;
  One& one = at->second;
  if (!answer.drop) {
    one.last = true;
    one.due = one.taker == kNoNode ? now : now + one.look;
    one.look = std::min(2 * one.look, kLastLook);
    return;
  }
  const bool was_offered = one.taker != kNoNode || !one.tried.empty();
  handed_on_ += was_offered ? 1 : 0;
  Erase(at);
}

DrainState::Effects DrainState::Step(Time now, const IsFed& is_fed) {
  Effects out;
  for (Item& item : copies_) {
    if (item.second.due <= now) Ask(item, now, is_fed, out);
    out.next = std::min(out.next, item.second.due);
  }
  return out;
}

void DrainState::Ask(Item& item, Time now, const IsFed& is_fed, Effects& out) {
  auto& [object, one] = item;
  SetResting(one, false);
  if (one.taker != kNoNode && is_fed(object)) one.named = now;
  const bool idle = one.taker != kNoNode && now >= one.named + kPatience;
  if (idle) {
    one.tried.insert(one.taker);
    GiveUp(one);
  }
  const bool needs_taker = one.last && one.taker == kNoNode;
  if (needs_taker && !Name(item, now, out)) return;
  out.ask.push_back({object, one.version, needs_taker ? one.taker : kNoNode});
  one.due = now + kAskAgain;
}

// False: nobody is to be named now.
bool DrainState::Name(Item& item, Time now, Effects& out) {
  One& one = item.second;
  if (!peers_told_ || now > *peers_told_ + kPeersAge) {
    out.look_for_peers = true;
    one.due = now + kPeersPatience;
    return false;
  }
  if (offered_bytes_ > 0 && offered_bytes_ + one.size_bytes > kBytesAtATime) {
    one.due = now + kLastLook;
    return false;
  }
  const Peer* const best = BestPeer(one);
  if (best == nullptr) {
    one.tried.clear();
    one.due = now + kDrainRest;
    SetResting(one, true);
    return false;
  }
  one.taker = best->node;
  one.named = now;
  one.look = kFirstLook;
  promised_[best->node] += one.size_bytes;
  offered_bytes_ += one.size_bytes;
  return true;
}

// The one with most room: in its memory, else with its disk. One that seems full comes last: it may
// have copies that it can evict.
const DrainState::Peer* DrainState::BestPeer(const One& one) const {
  const auto size = static_cast<std::int64_t>(one.size_bytes);
  const auto room = [&](const Peer& peer) {
    const std::int64_t with_disk = Free(peer) + static_cast<std::int64_t>(peer.disk_free_bytes);
    return std::pair(Free(peer) >= size, with_disk);
  };
  const Peer* best = nullptr;
  for (const Peer& peer : peers_) {
    if (peer.memory_bytes < one.size_bytes || one.tried.contains(peer.node)) continue;
    if (best == nullptr || room(peer) > room(*best)) best = &peer;
  }
  return best;
}

std::int64_t DrainState::Free(const Peer& peer) const {
  const auto promised = promised_.find(peer.node);
  const std::uint64_t taken = promised == promised_.end() ? 0 : promised->second;
  return static_cast<std::int64_t>(peer.memory_bytes) -
         static_cast<std::int64_t>(peer.used_bytes + taken);
}

void DrainState::GiveUp(One& one) {
  if (one.taker == kNoNode) return;
  std::uint64_t& promised = promised_[one.taker];
  promised -= std::min(promised, one.size_bytes);
  offered_bytes_ -= one.size_bytes;
  one.taker = kNoNode;
}

void DrainState::SetResting(One& one, bool resting) {
  if (one.resting == resting) return;
  one.resting = resting;
  busy_ += resting ? -1 : 1;
}

DrainOutcome DrainState::outcome() const {
  DrainOutcome outcome{.handed_on = handed_on_, .left_count = copies_.size(), .left = {}};
  for (const auto& [object, one] : copies_) {
    if (outcome.left.size() == kMaxLeftObjects) break;
    outcome.left.push_back({object, WhyLeft(one)});
  }
  return outcome;
}

Error DrainState::WhyLeft(const One& one) const {
  if (!one.last) {
    return {ErrorCode::kTimeout,
            "its directory shard has not said whether another node has it: the shard is away, or "
            "others still pull from this node"};
  }
  if (peers_.empty()) return {ErrorCode::kUnavailable, "no other node is there to take it"};
  std::vector<std::string> full;
  for (const Peer& peer : peers_) {
    const std::uint64_t free = peer.memory_bytes - std::min(peer.memory_bytes, peer.used_bytes);
    const bool could = peer.memory_bytes >= one.size_bytes;
    if (could && free + peer.disk_free_bytes >= one.size_bytes) {
      return {ErrorCode::kTimeout, "no other node has all of its bytes yet"};
    }
    if (full.size() == kNamedPeers) continue;
    full.push_back(fmt::format("{} has {} of {} bytes free", peer.name, free, peer.memory_bytes));
  }
  const std::size_t others = peers_.size() - full.size();
  return {
      ErrorCode::kResourceExhausted,
      fmt::format("no other node has room for its {} bytes: {}{}", one.size_bytes,
                  fmt::join(full, ", "), others == 0 ? "" : fmt::format(", and {} more", others))};
}

}  // namespace hoplite::planner

#include "planner/copies/blocked_pairs.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "protocol/node_action.h"

namespace hoplite::planner {
namespace {

// So many times the first pause a pair is left alone at most, and remembered after that.
constexpr int kMostPauses = 4;
// Until a third to which nothing came has given up.
constexpr Duration kThirdFor = protocol::TakeCopy::kPatience + std::chrono::seconds(2);

}  // namespace

Time BlockedPairs::Note(NodeId receiver, NodeId source, std::string why, Duration first, Time now) {
  for (const Pair& ended : kept_.Expire(now)) pairs_.erase(ended);
  if (pairs_.size() >= kMostPairs) {
    for (const Pair& oldest : kept_.Expire(kept_.next(), 1)) pairs_.erase(oldest);
  }
  Blocked& blocked = pairs_[{receiver, source}];
  blocked.pause = std::clamp(2 * blocked.pause, first, kMostPauses * first);
  blocked.until = now + blocked.pause;
  blocked.why = std::move(why);
  ++blocked.times;
  kept_.Insert({receiver, source}, blocked.until + kMostPauses * first);
  return blocked.until;
}

void BlockedPairs::Erase(const Pair& pair) {
  pairs_.erase(pair);
  kept_.Erase(pair);
}

void BlockedPairs::ForgetAll(NodeId node) {
  std::vector<Pair> its;
  for (const auto& [pair, blocked] : pairs_) {
    if (pair.first == node || pair.second == node) its.push_back(pair);
  }
  for (const Pair& pair : its) Erase(pair);
}

bool BlockedPairs::Blocks(NodeId receiver, NodeId source, Time now) const {
  const auto found = pairs_.find({receiver, source});
  return found != pairs_.end() && found->second.until > now;
}

std::string BlockedPairs::Why(NodeId receiver, NodeId source) const {
  const auto found = pairs_.find({receiver, source});
  return found == pairs_.end() ? std::string() : found->second.why;
}

std::set<NodeId> BlockedPairs::From(NodeId receiver, Time now) const {
  std::set<NodeId> sources;
  for (auto at = pairs_.lower_bound({receiver, kNoNode});
       at != pairs_.end() && at->first.first == receiver; ++at) {
    if (at->second.until > now) sources.insert(at->first.second);
  }
  return sources;
}

NodeId BlockedPairs::ThirdFor(NodeId receiver, NodeId source, const NodeTable& nodes, Time now,
                              const std::function<bool(NodeId)>& fit) const {
  std::vector<NodeId> thirds;
  for (const auto& [node, record] : nodes.nodes()) {
    const bool other = record.alive && node != receiver && node != source;
    if (!other || Blocks(node, source, now) || Blocks(receiver, node, now) || !fit(node)) continue;
    thirds.push_back(node);
  }
  if (thirds.empty()) return kNoNode;
  const auto pair = pairs_.find({receiver, source});
  const std::size_t turn = pair == pairs_.end() ? 0 : pair->second.times;
  return thirds[turn % thirds.size()];
}

void BlockedPairs::NoteThird(Version version, NodeId third, Time now) {
  thirds_.Expire(now);
  if (thirds_.entries().size() >= kMostPairs) thirds_.Expire(thirds_.next(), 1);
  thirds_.Insert({version, third}, now + kThirdFor);
}

void BlockedPairs::AddTo(Digest& digest) const {
  for (const auto& [pair, blocked] : pairs_) {
    digest.Add(Raw(pair.first)).Add(Raw(pair.second)).Add(blocked.until).Add(blocked.times);
  }
  for (const auto& [third, until] : thirds_.entries()) {
    digest.Add(third.first).Add(Raw(third.second)).Add(until);
  }
}

}  // namespace hoplite::planner

#include "planner/reduce/reduce_peers.h"

#include <algorithm>

namespace hoplite::planner {
namespace {

// When no node has memory for a partial result, all are asked again for so long.
constexpr Duration kPoorPatience = std::chrono::seconds(5);
constexpr Duration kRest = std::chrono::milliseconds(500);
// Before a receiver is sent to a source again that it could not reach: the longest pause of the
// shard, which knows more.
constexpr Duration kBlockedFor = std::chrono::seconds(4);
constexpr int kMostDetours = 64;

}  // namespace

const std::string& ReducePeers::SiteOf(NodeId node) const {
  static const std::string none;
  const auto known = sites_.find(node);
  return known == sites_.end() ? none : known->second;
}

void ReducePeers::BeginPatience() {
  if (!poor_since_) poor_since_ = now_;
}

bool ReducePeers::IsForGood(Time asked_at) const {
  return now_ < asked_at + kRest || (poor_since_ && now_ > *poor_since_ + kPoorPatience);
}

void ReducePeers::AskAllAgain() {
  poor_.clear();
  rests_until_ = now_ + kRest;
}

std::optional<Time> ReducePeers::NoteBlocked(NodeId receiver, NodeId source) {
  const std::optional<Time> until = blocked_.Until({receiver, source}, now_);
  if (!until) KeepApart(receiver, source);
  return until;
}

void ReducePeers::KeepApart(NodeId receiver, NodeId source) {
  blocked_.Insert({receiver, source}, now_ + kBlockedFor);
}

bool ReducePeers::AnyBlocked() const {
  return std::ranges::any_of(blocked_.entries(),
                             [this](const auto& entry) { return entry.second > now_; });
}

bool ReducePeers::MayGoAround() {
  if (gone_around_ >= kMostDetours) return false;
  ++gone_around_;
  return true;
}

NodeId ReducePeers::FirstHelper(const ReduceSources& sources,
                                const std::function<bool(NodeId)>& fit) const {
  if (fit(self_)) return self_;
  for (const NodeId third : thirds_) {
    if (fit(third)) return third;
  }
  for (SourceIndex source = 0; source < sources.size(); ++source) {
    for (const SourceHolder& holder : sources.holders(source)) {
      if (sources.Usable(holder) && fit(holder.node)) return holder.node;
    }
  }
  return kNoNode;
}

NodeId ReducePeers::WithMemory(const ReduceSources& sources) const {
  const NodeId found = FirstHelper(sources, [this](NodeId node) { return !IsPoor(node); });
  return found == kNoNode ? self_ : found;
}

NodeId ReducePeers::ThirdBetween(const ReduceSources& sources, NodeId receiver,
                                 NodeId source) const {
  return FirstHelper(sources, [&](NodeId third) {
    return third != receiver && third != source && !Blocked(receiver, third) &&
           !Blocked(third, source);
  });
}

}  // namespace hoplite::planner

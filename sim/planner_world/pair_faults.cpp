// Planted faults of a shard that deals with nodes that can't connect to each other (R68).
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "sim/planner_world/fault_parts.h"

namespace hoplite::sim {
namespace {

// Which receivers could not connect to which sources, as one hears: one way each.
class Unconnected {
 public:
  using Pair = std::pair<NodeId, NodeId>;  // receiver, source

  bool Has(NodeId receiver, NodeId source) const { return pairs_.contains({receiver, source}); }
  // The grant that it said so of, if that was open.
  const Grants::Open* Note(const EventBody& event) {
    const auto* closed = Said<protocol::GrantClosed>(event);
    if (closed == nullptr || closed->failure != protocol::Failure::kUnreachable) return nullptr;
    const auto open = grants_.open().find(closed->grant);
    if (open == grants_.open().end()) return nullptr;
    pairs_.emplace(open->second.receiver, open->second.grant.source.id);
    return &open->second;
  }
  void NoteGrants(const EventBody& event) { grants_.Note(event); }
  void NoteGrants(const std::vector<Action>& answers) { grants_.Note(answers); }
  void AddTo(Digest& digest) const {
    grants_.AddTo(digest);
    for (const auto& [receiver, source] : pairs_) digest.Add(receiver).Add(source);
  }

 private:
  Grants grants_;
  std::set<Pair> pairs_;
};

class ForgetsBlockedPairs final : public Copied<ForgetsBlockedPairs> {
 public:
  bool Hears(const EventBody& event) override {
    if (const Grants::Open* failed = known_.Note(event)) {
      wrong_.push_back({failed->receiver, failed->grant});
      std::get<protocol::Grant>(wrong_.back().body).grant.sequence += kMadeUp;
    }
    known_.NoteGrants(event);
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    known_.NoteGrants(answers);
    std::ranges::move(std::exchange(wrong_, {}), std::back_inserter(answers));
    return {};
  }
  void AddTo(Digest& digest) const override {
    known_.AddTo(digest);
    digest.Add(wrong_.size());
  }

 private:
  Unconnected known_;
  std::vector<Action> wrong_;  // to be said next
};

class NeverTriesAgain final : public Copied<NeverTriesAgain> {
 public:
  bool Hears(const EventBody& event) override {
    known_.Note(event);
    known_.NoteGrants(event);
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    known_.NoteGrants(answers);
    std::erase_if(answers, [this](const Action& answer) {
      const auto* grant = std::get_if<protocol::Grant>(&answer.body);
      return grant != nullptr && known_.Has(answer.to, grant->source.id);
    });
    return {};
  }
  void AddTo(Digest& digest) const override { known_.AddTo(digest); }

 private:
  Unconnected known_;
};

class AsksNoThird final : public Copied<AsksNoThird> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    std::erase_if(answers, [](const Action& answer) {
      return std::holds_alternative<protocol::TakeCopy>(answer.body);
    });
    return {};
  }
};

class NamesNoPair final : public Copied<NamesNoPair> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      auto* lost = std::get_if<protocol::SlotLost>(&answer.body);
      if (lost != nullptr) lost->receiver = lost->third = kNoNode;
    }
    return {};
  }
};

// The orders of a plan, as the coordinator said them last.
class Orders {
 public:
  void Note(const EventBody& event) {
    const auto* said = Said<protocol::ReduceOrders>(event);
    if (said == nullptr) return;
    if (said->plan != 0) by_slot_.clear();
    for (const auto& planned : said->orders) by_slot_[planned.order.slot] = planned;
  }
  const protocol::PlannedOrder& At(std::uint32_t slot) const { return by_slot_.at(slot); }
  void AddTo(Digest& digest) const {
    for (const auto& [slot, planned] : by_slot_) digest.Add(slot).Add(planned.attempt);
  }

 private:
  std::map<std::uint32_t, protocol::PlannedOrder> by_slot_;
};

class TakesOneWayForBoth final : public Copied<TakesOneWayForBoth> {
 public:
  bool Hears(const EventBody& event) override {
    orders_.Note(event);
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      if (const auto* lost = std::get_if<protocol::SlotLost>(&answer.body)) {
        if (lost->receiver == kNoNode) continue;
        cut_.emplace(orders_.At(lost->slot).order.node, lost->receiver);
        last_ = {answer.to, *lost};
      } else if (const auto* feed = std::get_if<protocol::SlotFeed>(&answer.body)) {
        if (cut_.contains({answer.to, feed->source.id})) answer = LossOf(answer.to, *feed);
      }
    }
    return {};
  }
  void AddTo(Digest& digest) const override {
    orders_.AddTo(digest);
    for (const auto& [receiver, source] : cut_) digest.Add(receiver).Add(source);
  }

 private:
  Action LossOf(NodeId receiver, const protocol::SlotFeed& feed) const {
    protocol::SlotLost lost = last_.second;
    lost.slot = feed.input;
    lost.attempt = orders_.At(feed.input).attempt;
    lost.receiver = receiver;
    return {last_.first, lost};
  }

  Orders orders_;
  std::set<Unconnected::Pair> cut_;  // by its own mistake
  std::pair<NodeId, protocol::SlotLost> last_;
};

class TakesTheOtherWay final : public Copied<TakesTheOtherWay> {
 public:
  bool Hears(const EventBody& event) override {
    orders_.Note(event);
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      auto* lost = std::get_if<protocol::SlotLost>(&answer.body);
      if (lost == nullptr || lost->receiver == kNoNode) continue;
      const protocol::SlotOrder& child = orders_.At(lost->slot).order;
      lost->receiver = child.node;
      lost->slot = child.parents.front();
      lost->attempt = orders_.At(lost->slot).attempt;
    }
    return {};
  }
  void AddTo(Digest& digest) const override { orders_.AddTo(digest); }

 private:
  Orders orders_;
};

}  // namespace

std::unique_ptr<FaultInjector> PairInjectorOf(PlantedFault fault) {
  switch (fault) {
    case PlantedFault::kForgetsBlockedPairs:
      return std::make_unique<ForgetsBlockedPairs>();
    case PlantedFault::kNeverTriesAgain:
      return std::make_unique<NeverTriesAgain>();
    case PlantedFault::kAsksNoThird:
      return std::make_unique<AsksNoThird>();
    case PlantedFault::kNamesNoPair:
      return std::make_unique<NamesNoPair>();
    case PlantedFault::kTakesOneWayForBoth:
      return std::make_unique<TakesOneWayForBoth>();
    case PlantedFault::kTakesTheOtherWay:
      return std::make_unique<TakesTheOtherWay>();
    default:
      return nullptr;
  }
}

}  // namespace hoplite::sim

#include "sim/planner_world/fault_injector.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "sim/planner_world/fault_parts.h"

namespace hoplite::sim {
namespace {

class ForgetsDescendants final : public Copied<ForgetsDescendants> {
 public:
  bool Hears(const EventBody& event) override {
    if (const auto* lost = std::get_if<planner::NodeLost>(&event)) SendBack(lost->node);
    grants_.Note(event);
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    grants_.Note(answers);
    std::ranges::move(std::exchange(wrong_, {}), std::back_inserter(answers));
    return {};
  }
  void AddTo(Digest& digest) const override {
    grants_.AddTo(digest);
    digest.Add(wrong_.size());
  }

 private:
  // Whoever pulls from the lost node is sent to one that pulls from it.
  void SendBack(NodeId lost) {
    for (const auto& [id, cut] : grants_.open()) {
      const Grants::Open* below = grants_.From(cut.receiver);
      if (cut.grant.source.id != lost || below == nullptr) continue;
      protocol::Grant circle = cut.grant;
      circle.grant.sequence += kMadeUp;
      circle.source = {.id = below->receiver};
      circle.equality_ok = true;
      circle.replaces = id;
      wrong_.push_back({cut.receiver, circle});
    }
  }

  Grants grants_;
  std::vector<Action> wrong_;  // to be said next
};

class HandsOutDeadNodes final : public Copied<HandsOutDeadNodes> {
 public:
  bool Hears(const EventBody& event) override {
    return !std::holds_alternative<planner::NodeSuspended>(event) &&
           !std::holds_alternative<planner::NodeLost>(event);
  }
};

class MixesVersionsOnResume final : public Copied<MixesVersionsOnResume> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    std::erase_if(answers, [](const Action& answer) {
      return std::holds_alternative<protocol::Recall>(answer.body);
    });
    for (Action& answer : answers) {
      auto* accepted = std::get_if<protocol::CreateAccepted>(&answer.body);
      if (accepted == nullptr) continue;
      accepted->version = first_.try_emplace(accepted->object, accepted->version).first->second;
    }
    return {};
  }
  void AddTo(Digest& digest) const override {
    for (const auto& [object, version] : first_) digest.Add(object).Add(version);
  }

 private:
  std::map<ObjectId, Version> first_;
};

class KeepsGrantsOpen final : public Copied<KeepsGrantsOpen> {
 public:
  bool Hears(const EventBody& event) override {
    return Said<protocol::GrantClosed>(event) == nullptr;
  }
};

class DropsOldGrantCompletions final : public Copied<DropsOldGrantCompletions> {
 public:
  bool Hears(const EventBody& event) override {
    if (const auto* closed = Said<protocol::GrantClosed>(event)) {
      const NodeId node = std::get<planner::NodeSaid>(event).node;
      late_.erase(node);
      if (!grants_.open().contains(closed->grant)) late_.insert(node);
    }
    grants_.Note(event);
    const bool complete = Said<protocol::CopyComplete>(event) != nullptr;
    return !complete || !late_.contains(std::get<planner::NodeSaid>(event).node);
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    grants_.Note(answers);
    return {};
  }
  void AddTo(Digest& digest) const override {
    grants_.AddTo(digest);
    for (const NodeId node : late_) digest.Add(node);
  }

 private:
  Grants grants_;
  std::set<NodeId> late_;  // whose last grant was not open any more when it was closed
};

class ListsWaitersForMemory final : public Copied<ListsWaitersForMemory> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    std::vector<EventBody> wants;
    for (const Action& answer : answers) {
      const auto* located = std::get_if<protocol::Located>(&answer.body);
      if (located == nullptr) continue;
      wants.emplace_back(
          planner::NodeSaid{answer.to, protocol::Want{.object = located->object,
                                                      .version = located->version,
                                                      .marks = located->layout.empty_marks()}});
    }
    return wants;
  }
};

class FoldsTwice final : public Copied<FoldsTwice> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      auto* assigned = std::get_if<protocol::SlotAssigned>(&answer.body);
      if (assigned == nullptr || assigned->order.inputs.empty()) continue;
      assigned->order.inputs.push_back(assigned->order.inputs.front());
    }
    return {};
  }
};

class ResetsSiblings final : public Copied<ResetsSiblings> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    std::set<std::uint32_t> told;
    bool again = false;
    for (const Action& answer : answers) {
      const auto* assigned = std::get_if<protocol::SlotAssigned>(&answer.body);
      if (assigned == nullptr) continue;
      const std::uint32_t slot = assigned->order.slot;
      told.insert(slot);
      again |= orders_.contains(slot) && OrderIn(orders_.at(slot)).version < assigned->version;
      orders_[slot] = answer;
    }
    for (auto& [slot, order] : orders_) {
      if (!again || told.contains(slot)) continue;
      OrderIn(order).version.sequence += kMadeUp;
      answers.push_back(order);
    }
    return {};
  }
  void AddTo(Digest& digest) const override {
    for (const auto& [slot, order] : orders_) {
      digest.Add(order.to).Add(std::get<protocol::SlotAssigned>(order.body).version);
    }
  }

 private:
  static protocol::SlotAssigned& OrderIn(Action& action) {
    return std::get<protocol::SlotAssigned>(action.body);
  }

  std::map<std::uint32_t, Action> orders_;  // the newest of each slot
};

class OneVersionPerRoot final : public Copied<OneVersionPerRoot> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      auto* assigned = std::get_if<protocol::SlotAssigned>(&answer.body);
      if (assigned == nullptr || !assigned->order.root()) continue;
      assigned->version.sequence += assigned->order.slot * kMadeUp;
    }
    return {};
  }
};

class CommitsAtTheLastFold final : public Copied<CommitsAtTheLastFold> {
 public:
  bool Hears(const EventBody& event) override {
    const auto* commit = Said<protocol::ReduceCommit>(event);
    if (commit == nullptr) return true;
    wrong_.emplace_back(planner::NodeSaid{
        std::get<planner::NodeSaid>(event).node,
        protocol::Progress{.object = commit->object, .version = commit->version, .marks = full_}});
    return true;
  }
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (const Action& answer : answers) {
      const auto* assigned = std::get_if<protocol::SlotAssigned>(&answer.body);
      if (assigned != nullptr) full_ = assigned->layout.full_marks();
    }
    return std::exchange(wrong_, {});
  }
  void AddTo(Digest& digest) const override { digest.Add(wrong_.size()); }

 private:
  StripeMarks full_;
  std::vector<EventBody> wrong_;  // to be heard next
};

class DropsTheLastCopy final : public Copied<DropsTheLastCopy> {
 public:
  std::vector<EventBody> Answer(std::vector<Action>& answers) override {
    for (Action& answer : answers) {
      if (auto* evict = std::get_if<protocol::EvictAnswer>(&answer.body)) evict->drop = true;
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<FaultInjector> InjectorOf(PlantedFault fault) {
  switch (fault) {
    case PlantedFault::kForgetsDescendants:
      return std::make_unique<ForgetsDescendants>();
    case PlantedFault::kHandsOutDeadNodes:
      return std::make_unique<HandsOutDeadNodes>();
    case PlantedFault::kMixesVersionsOnResume:
      return std::make_unique<MixesVersionsOnResume>();
    case PlantedFault::kKeepsGrantsOpen:
      return std::make_unique<KeepsGrantsOpen>();
    case PlantedFault::kDropsOldGrantCompletions:
      return std::make_unique<DropsOldGrantCompletions>();
    case PlantedFault::kListsWaitersForMemory:
      return std::make_unique<ListsWaitersForMemory>();
    case PlantedFault::kFoldsTwice:
      return std::make_unique<FoldsTwice>();
    case PlantedFault::kResetsSiblings:
      return std::make_unique<ResetsSiblings>();
    case PlantedFault::kOneVersionPerRoot:
      return std::make_unique<OneVersionPerRoot>();
    case PlantedFault::kCommitsAtTheLastFold:
      return std::make_unique<CommitsAtTheLastFold>();
    case PlantedFault::kDropsTheLastCopy:
      return std::make_unique<DropsTheLastCopy>();
    case PlantedFault::kKeepsBytesOfOldSlots:  // of the worlds' own participants
    case PlantedFault::kEndsBySeal:
    case PlantedFault::kAsksInAnyOrder:
    case PlantedFault::kTakesAnyGive:
    case PlantedFault::kPlansThemBeside:
    case PlantedFault::kNone:
      break;
    default:
      return PairInjectorOf(fault);
  }
  return nullptr;
}

}  // namespace hoplite::sim

// One slot of a reduction, as tests drive it: told in the order in which it happens, answered in
// words.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "planner/node/slot_state.h"

namespace hoplite::planner::slot_execution {

inline constexpr std::uint32_t kSlot = 5;
inline constexpr std::uint32_t kParent = 6;
inline const Version kVersion{{1, 50}};
// The layout has two stripes.
inline constexpr StripeMask kFirstStripe = 1;
inline constexpr StripeMask kSecondStripe = 2;
inline constexpr StripeMask kBothStripes = 3;

inline SlotAssigned OrderOf(std::uint32_t sources, std::uint32_t children, std::uint32_t parent) {
  SlotAssigned order{.object = ObjectId::FromName("target"),
                     .version = kVersion,
                     .layout = Layout::For(1 << 20, 2)};
  const std::vector<std::uint32_t> parents(parent == 0 ? 0 : 1, parent);
  order.order = {.slot = kSlot,
                 .parents = parents,
                 .stripes = order.layout.all_stripes(),
                 .children = children,
                 .node = NodeId{1}};
  for (std::uint32_t i = 0; i < sources; ++i) {
    order.order.inputs.push_back({ObjectId::FromName("source " + std::to_string(i)), {{1, i + 1}}});
  }
  return order;
}

inline std::string WordFor(const NodeEvent& event) {
  if (const auto* failed = std::get_if<SlotFailed>(&event)) {
    if (failed->input != 0) return "lost " + std::to_string(failed->input);
    return "failed: " + failed->message;
  }
  if (const auto* drained = std::get_if<SlotDrained>(&event)) {
    return "drained " + std::to_string(drained->input);
  }
  if (std::holds_alternative<ReduceCommit>(event)) return "commit?";
  if (std::holds_alternative<SlotProgress>(event)) return "report";
  return "something else";
}

// One slot. Whatever is told it at a moment, it answers when it is asked at the end.
class Execution {
 public:
  static Execution Leaf(std::uint32_t sources) { return Execution(OrderOf(sources, 0, kParent)); }
  static Execution Inner(std::uint32_t sources, std::uint32_t children) {
    return Execution(OrderOf(sources, children, kParent));
  }
  static Execution Root(std::uint32_t sources, std::uint32_t children) {
    return Execution(OrderOf(sources, children, 0));
  }
  // Of an order that makes these stripes only: a root, or one that these parents fold.
  static Execution Part(StripeMask stripes, std::uint32_t children,
                        std::vector<std::uint32_t> parents = {}) {
    SlotAssigned order = OrderOf(1, children, 0);
    order.order.stripes = stripes;
    order.order.parents = std::move(parents);
    return Execution(std::move(order));
  }

  Execution& After(Duration time) {
    now_ += time;
    return *this;
  }
  Execution& Source(std::size_t i, OwnSource source) {
    sources_[i] = source;
    state_.OnSource(i, source, now_, effects_);
    return *this;
  }
  Execution& Memory() {
    EXPECT_TRUE(state_.WantsOutput(now_));
    state_.OnOutput(now_);
    for (const auto& [i, source] : sources_) state_.OnSource(i, source, now_, effects_);
    return *this;
  }
  Execution& NoMemory(bool ever = true) {
    state_.OnNoMemory(ever, now_, effects_);
    return *this;
  }
  Execution& Feed(std::uint32_t child, StripeMask stripes = kBothStripes) {
    SlotFeed feed{.object = state_.order().object, .slot = kSlot, .version = kVersion};
    feed.input = child;
    feed.input_version = Version{{1, 100 + child}};
    feed.stripes = stripes;
    state_.OnFeed(feed);
    return *this;
  }
  // The streams of this child end, `folded` blocks of its first stripe are folded.
  Execution& Breaks(std::uint32_t child, Failure why, std::uint32_t folded = 0) {
    state_.OnStreamsEnded(child, {why, "why"}, {folded, 0}, now_, effects_);
    return *this;
  }
  Execution& Ends(std::uint32_t child) {
    state_.OnStripesEnded(child, state_.order().layout.all_stripes());
    state_.OnStreamsEnded(child, {}, state_.order().layout.full_marks(), now_, effects_);
    return *this;
  }
  Execution& Folded(FoldProgress folded) {
    folded_ = folded;
    return *this;
  }
  Execution& FoldedAll() { return Made(kBothStripes); }
  // Every block of these stripes.
  Execution& Made(StripeMask stripes) {
    return Folded({.any = true, .made = stripes, .of_each_child = true});
  }
  Execution& Committed() {
    state_.OnCommitted(effects_);
    return *this;
  }
  // Its memory goes to somebody else.
  Execution& LetGo() {
    state_.GiveBack();
    state_.LetGo(now_);
    folded_ = {};
    return *this;
  }
  // Its parents.
  Execution& Asked(StripeMask stripes = kBothStripes) {
    state_.OnAsked(stripes);
    return *this;
  }
  Execution& Drained(StripeMask stripes = kBothStripes) {
    state_.OnDrained(stripes);
    return *this;
  }
  Execution& Drop() {
    state_.Drop();
    return *this;
  }

  // Since the last time.
  std::vector<std::string> Answers() {
    next_ = state_.Plan(now_, folded_, effects_);
    std::vector<std::string> words;
    for (const NodeEvent& event : effects_.say) words.push_back(WordFor(event));
    for (const auto& pull : effects_.pull) {
      const bool all = pull.stripes == state_.order().layout.all_stripes();
      const std::string from = pull.from[0] == 0 ? "" : " from " + std::to_string(pull.from[0]);
      words.push_back("pull " + std::to_string(pull.input) + from + (all ? "" : " in part"));
    }
    if (effects_.seal == kBothStripes) {
      words.emplace_back("seal");
    } else if (effects_.seal != 0) {
      words.push_back("seal stripes " + std::to_string(effects_.seal));
    }
    effects_ = {};
    return words;
  }
  std::vector<std::string> Repeats() const {
    std::vector<std::string> words;
    for (const NodeEvent& event : state_.Inventory()) words.push_back(WordFor(event));
    return words;
  }
  bool Spares(bool same_operation) const {
    const auto operation =
        same_operation ? std::optional(state_.order().object) : std::optional<ObjectId>();
    return state_.Spares(operation, folded_, now_);
  }
  bool wants_memory() const { return state_.WantsOutput(now_) && !state_.serves_source(); }
  Duration waits() const { return next_ - now_; }
  SlotState& state() { return state_; }

 private:
  explicit Execution(SlotAssigned order) : state_(std::move(order), "n1", now_) {}

  Time now_ = Time(std::chrono::hours(1));
  SlotState state_;
  std::map<std::size_t, OwnSource> sources_;  // as they are now
  FoldProgress folded_;
  SlotState::Effects effects_;
  Time next_{};
};

}  // namespace hoplite::planner::slot_execution

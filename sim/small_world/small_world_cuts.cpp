// SmallWorld: two nodes that can't connect (R68), and who waits in vain for that.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/small_world/small_world.h"

namespace hoplite::sim {
namespace {

// Time passes so often before everybody gives up: each time a pause ends, after which the two, or
// others for them, are tried again.
constexpr std::uint32_t kPatience = 8;

}  // namespace

void SmallWorld::CutOff() {
  cut_left_ = false;
  waits_for_way_ = 0;
  const SmallCut& cut = *options_.cut;
  cuts_.Cut(cut.receiver, cut.source);
  if (cut.both_ways) cuts_.Cut(cut.source, cut.receiver);
  for (Stream& stream : streams_) {
    const bool flows = stream.open != 0 && stream.fate == Stream::Fate::kFlows;
    if (!flows || !cuts_.Has(stream.receiver, IndexOf(stream.fetch.source))) continue;
    stream.fate = Stream::Fate::kBroken;
  }
}

void SmallWorld::Heal() {
  heal_left_ = false;
  waits_for_way_ = 0;
  const SmallCut& cut = *options_.cut;
  cuts_.Heal(cut.receiver, cut.source);
  cuts_.Heal(cut.source, cut.receiver);
}

bool SmallWorld::HasWay(std::uint32_t receiver, std::uint32_t source) const {
  std::vector<std::uint32_t> thirds;
  for (std::uint32_t index = 0; index < options_.nodes; ++index) {
    if (members_[index].alive) thirds.push_back(index);
  }
  return cuts_.HasWay(receiver, source, thirds);
}

bool SmallWorld::MayGet(std::uint32_t receiver) const {
  for (std::uint32_t source = 0; source < members_.size(); ++source) {
    const Member& member = members_[source];
    const bool whole = member.alive && member.node.copy() && member.node.copy()->complete;
    if (whole && source != receiver && HasWay(receiver, source)) return true;
  }
  return false;
}

// Between any two, in one direction at least: each may stand above the other. If there is no way it
// says whom it is about.
bool SmallWorld::MayFold() const {
  const std::string& why = reduction_->coordinator.planner().last_loss();
  for (const auto& [receiver, source] : cuts_.all()) {
    const bool both = members_[receiver].alive && members_[source].alive;
    if (!both || HasWay(receiver, source) || HasWay(source, receiver)) continue;
    const bool named =
        why.contains(fmt::format("n{}:1", receiver)) && why.contains(fmt::format("n{}:1", source));
    if (named) return false;
  }
  return true;
}

bool SmallWorld::WaitsInVain() const {
  if (!pairs_ || waits_for_way_ < kPatience) return false;
  const bool reduces = reduction_ && members_[reduction_->node].alive && !reduction_->ended;
  return reduces || std::ranges::any_of(members_, [](const Member& member) {
           return member.alive && member.node.waiting();
         });
}

// Whose source gets nothing itself. A node says so more often than a pause ends, and once each time
// that time passes is enough.
std::optional<std::uint32_t> SmallWorld::Starving() const {
  if (!pairs_) return std::nullopt;
  for (const Stream& stream : streams_) {
    const Member& member = members_[stream.receiver];
    if (stream.open != 0 && member.node.connected() && !member.said_starved) return stream.receiver;
  }
  return std::nullopt;
}

void SmallWorld::SayStarved(std::uint32_t index) {
  members_[index].said_starved = true;
  protocol::Progress report = members_[index].node.ProgressReport(0);
  report.starved_for = planner::DirectoryOptions().starved_after;
  Say(index, report);
}

// Who waits now gives up, and must have had a reason for that.
void SmallWorld::GiveUp() {
  if (reduction_ && !reduction_->ended) return GiveUpReduction();
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    VirtualNode& node = members_[index].node;
    if (!members_[index].alive || !node.waiting()) continue;
    if (!node.helping() && MayGet(index)) {
      Fail(fmt::format("P9: n{} waited in vain although there is a way to the object", index));
    }
    Effects effects;
    node.StopHelping(effects);
    node.Cancel(effects);
    Effect(index, effects);
  }
}

}  // namespace hoplite::sim

// Sessions, the shard and time in the registers' world.
#include <algorithm>
#include <utility>
#include <variant>

#include "sim/register_world/register_world.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLease = seconds(1);
constexpr Duration kGrace = seconds(1);
constexpr Duration kOrphanGrace = seconds(30);
constexpr std::size_t kMostLeftOver = 1;
constexpr std::uint64_t kOtherNumber = 1000;  // of a call that goes by a new one

}  // namespace

planner::DirectoryOptions RegisterWorld::DirectoryOptionsOf(std::uint64_t incarnation,
                                                            bool restarted) const {
  planner::DirectoryOptions options;
  options.incarnation = incarnation;
  options.recovery_window = restarted ? milliseconds(1) : Duration{0};
  options.orphan_grace = kOrphanGrace;
  options.unknown_owners = kLease + kGrace + kOrphanGrace;
  if (Faulty(RegisterFault::kAnswersAtOnce)) options.unknown_owners = kOrphanGrace;
  return options;
}

void RegisterWorld::Tell(planner::EventBody event) {
  auto* said = std::get_if<planner::NodeSaid>(&event);
  auto* use = said != nullptr ? std::get_if<protocol::RegisterUse>(&said->event) : nullptr;
  const bool writes = use != nullptr && use->call && use->call->write;
  if (writes && Faulty(RegisterFault::kAnyNumber)) {
    const auto known = shard_.Register(name_);
    if (known) use->call->write->expected = known->entry.version;
  }
  shard_.Apply({now_, event});
}

void RegisterWorld::Plan() {
  std::vector<planner::Action> actions;
  plan_at_ = shard_.Plan(now_, actions);
  if (plan_at_ != kNever) plan_at_ = std::max(plan_at_, now_ + Duration{1});
  for (planner::Action& action : actions) {
    auto& news = std::get<protocol::RegisterNews>(action.body);
    NoteWrite(news.entry);
    const bool claimed = action.to == news.entry.attempt.node;
    if (claimed && news.call == 0 && Faulty(RegisterFault::kClaimsUnheard)) {
      news.outcome = protocol::RegisterOutcome::kWritten;
      news.call = news.entry.attempt.number;
    }
    const bool over = shard_.Register(name_)->entry.version > news.entry.version;
    if (over && news.outcome == protocol::RegisterOutcome::kWritten &&
        Faulty(RegisterFault::kRefusesDone)) {
      news.outcome = protocol::RegisterOutcome::kConflict;
    }
    Node& node = nodes_[Raw(action.to) - 1];
    if (node.open) node.to_node.push_back(std::move(action.body));
  }
}

void RegisterWorld::ToShard(std::uint32_t index) {
  Node& node = nodes_[index];
  const std::vector<planner::EventBody> batch = std::move(node.to_shard.front());
  node.to_shard.erase(node.to_shard.begin());
  for (const planner::EventBody& event : batch) Tell(event);
  node.told = true;  // the first of a session is its inventory
  Plan();
}

void RegisterWorld::LeftOver(std::uint32_t index) {
  Node& node = nodes_[index];
  const protocol::RegisterUse use = node.left_over.front();
  node.left_over.erase(node.left_over.begin());
  Tell(planner::NodeSaid{IdOf(index), use});
  Plan();
}

void RegisterWorld::Connect(std::uint32_t index) {
  Node& node = nodes_[index];
  const protocol::NodeInfo info{IdOf(index), std::to_string(index), "x:1"};
  const protocol::RegisterContents* known = node.registers.Known(name_);
  const bool tells = known != nullptr && !Faulty(RegisterFault::kTellsNothing) &&
                     !Faulty(RegisterFault::kOldClock);
  Tell(planner::NodeJoined{
      .node = info,
      .highest_incarnation = tells ? known->version.incarnation : 0,
      .register_number = Faulty(RegisterFault::kNoFloor) ? 0 : node.registers.number()});
  node.open = node.known = true;
  ++node.session;
  node.registers.SessionOpened();
  node.to_shard.push_back(InventoryOf(index));
  Plan();
}

std::vector<planner::EventBody> RegisterWorld::InventoryOf(std::uint32_t index) {
  Node& node = nodes_[index];
  std::vector<planner::EventBody> events;
  if (auto use = node.registers.Inventory(name_)) {
    if (Faulty(RegisterFault::kTellsNothing)) use->knows = protocol::RegisterContents{};
    if (Faulty(RegisterFault::kNoClaims)) use->claim = {};
    if (Faulty(RegisterFault::kNoCalls)) use->call.reset();
    if (Faulty(RegisterFault::kNewAttempts) && use->call) {
      use->call->number += kOtherNumber * node.session;
    }
    events.emplace_back(planner::NodeSaid{IdOf(index), std::move(*use)});
  }
  if (!Faulty(RegisterFault::kNeverEnds)) {
    events.emplace_back(planner::NodeSaid{IdOf(index), protocol::InventoryEnd{}});
  }
  return events;
}

void RegisterWorld::Break(std::uint32_t index, bool leaves_words) {
  Node& node = nodes_[index];
  for (const auto& batch : node.to_shard) {
    const auto* said = std::get_if<planner::NodeSaid>(&batch.front());
    const auto* use = std::get_if<protocol::RegisterUse>(&said->event);
    const bool room = node.left_over.size() < kMostLeftOver;
    if (leaves_words && batch.size() == 1 && use != nullptr && room) node.left_over.push_back(*use);
  }
  node.to_shard.clear();
  node.to_node.clear();
  node.open = false;
  node.away_since = now_;
  if (node.told) node.unheard_since = now_;
  node.told = false;
  node.registers.SessionEnded();
  if (!leaves_words) return;
  Tell(planner::NodeSuspended{IdOf(index)});
  Plan();
}

Time RegisterWorld::LostAt(const Node& node) const {
  return node.known && !node.open ? node.away_since + kGrace : kNever;
}

void RegisterWorld::Lose(std::uint32_t index) {
  nodes_[index].known = false;
  nodes_[index].lost = true;
  nodes_[index].left_over.clear();
  Tell(planner::NodeLost{IdOf(index)});
  Plan();
}

void RegisterWorld::Restart() {
  --options_.restarts;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (nodes_[i].open) Break(i, false);
    nodes_[i].known = false;
    nodes_[i].left_over.clear();
  }
  ++incarnation_;
  const bool again = Faulty(RegisterFault::kOldClock);
  shard_ = planner::DirectoryState(DirectoryOptionsOf(again ? 1 : incarnation_, true), now_);
  Plan();
}

void RegisterWorld::NodeDies(std::uint32_t index) {
  --options_.node_deaths;
  if (nodes_[index].open) Break(index, true);
  nodes_[index].alive = false;
  nodes_[index].registers = {};
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (NodeOf(i) != index) continue;
    clients_[i].state = State::kClosed;
    clients_[i].promised = false;
  }
}

// Of the shard, by itself.
Time RegisterWorld::NextChange() const {
  Time next = plan_at_;
  for (const Node& node : nodes_) next = std::min(next, LostAt(node));
  return next;
}

// The shard is called whenever it asks to be.
void RegisterWorld::AdvanceTo(Time time) {
  now_ = std::max(now_, time);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (LostAt(nodes_[i]) <= now_) Lose(i);
  }
  Plan();
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Node& node = nodes_[NodeOf(i)];
    // Another may have followed it, or been told that it is gone.
    const bool away = !node.told && now_ - node.unheard_since >= kGrace;
    if (away) clients_[i].promised = false;
  }
}

}  // namespace hoplite::sim

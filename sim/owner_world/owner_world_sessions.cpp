// Sessions, the shard and time in the owners' world.
#include <algorithm>
#include <utility>
#include <variant>

#include "sim/owner_world/owner_world.h"

namespace hoplite::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLease = seconds(1);
constexpr Duration kGrace = seconds(1);
constexpr Duration kOrphanGrace = seconds(30);
constexpr Duration kTombstone = seconds(60);
constexpr std::size_t kMostLeftOver = 2;
constexpr Duration kLongestOutage = seconds(45);
constexpr Duration kLongest = seconds(200);  // longer than anything that is waited for

}  // namespace

planner::DirectoryOptions OwnerWorld::DirectoryOptionsOf(std::uint64_t incarnation) const {
  planner::DirectoryOptions options;
  options.incarnation = incarnation;
  options.inline_limit_bytes = 0;
  options.recovery_window = incarnation == 1 ? Duration{0} : milliseconds(1);
  options.tombstone = kTombstone;
  options.orphan_grace = Faulty(OwnerFault::kNoOrphanGrace) ? Duration{0} : kOrphanGrace;
  options.unknown_owners = kLease + kGrace + kOrphanGrace;
  if (Faulty(OwnerFault::kOnlyTheWindow)) options.unknown_owners = milliseconds(1);
  return options;
}

void OwnerWorld::Tell(const planner::EventBody& event) {
  const auto* said = std::get_if<planner::NodeSaid>(&event);
  const auto* owner = said != nullptr ? std::get_if<protocol::Owner>(&said->event) : nullptr;
  shard_.Apply({now_, event});
  const planner::DirectoryState::OwnerView view = shard_.Owners(object_);
  ever_ = ever_ || view.ever_owned || view.deleted;
  const bool forgets = Faulty(OwnerFault::kKnownOwnersOnly) && owner != nullptr && !owner->own;
  if (forgets && !shard_.Owners(object_).owned) {
    shard_.Apply({now_, planner::NodeSaid{said->node, protocol::Delete{object_}}});
  }
}

void OwnerWorld::Plan() {
  std::vector<planner::Action> actions;
  plan_at_ = shard_.Plan(now_, actions);
  if (plan_at_ != kNever) plan_at_ = std::max(plan_at_, now_ + Duration{1});
  for (planner::Action& action : actions) {
    Node& node = nodes_[Raw(action.to) - 1];
    const auto* deleted = std::get_if<protocol::Deleted>(&action.body);
    if (deleted != nullptr) mark_end_ = now_ + deleted->remaining;
    if (node.open) node.to_node.push_back(std::move(action.body));
  }
}

void OwnerWorld::ToShard(std::uint32_t node) {
  const std::vector<planner::EventBody> batch = std::move(nodes_[node].to_shard.front());
  nodes_[node].to_shard.erase(nodes_[node].to_shard.begin());
  for (const planner::EventBody& event : batch) Tell(event);
  nodes_[node].told = true;  // the first of a session is its inventory
  Plan();
}

void OwnerWorld::LeftOver(std::uint32_t node) {
  const protocol::Owner owner = nodes_[node].left_over.front();
  nodes_[node].left_over.erase(nodes_[node].left_over.begin());
  Tell(planner::NodeSaid{IdOf(node), owner});
  Plan();
}

void OwnerWorld::Connect(std::uint32_t index) {
  Node& node = nodes_[index];
  const bool outlived =
      node.life == incarnation_ && !node.known && now_ - node.away_since >= kTombstone - kLease;
  if (outlived) DropCopy(node);
  const bool only_answered = Faulty(OwnerFault::kOnlyAnsweredBits);
  const auto bit = node.owners.Inventory(object_, now_);
  const bool untold = only_answered && bit && bit->own && bit->number > node.answered;
  std::uint64_t number = node.owners.number() - (untold ? 1 : 0);
  if (Faulty(OwnerFault::kNoNumbers)) number = 0;
  const protocol::NodeInfo info{IdOf(index), std::to_string(index), "x:1"};
  Tell(planner::NodeJoined{info, node.copy.value_or(Version{}).incarnation, number});
  if (Faulty(OwnerFault::kNoMarker)) {
    Tell(planner::NodeSaid{IdOf(index), protocol::InventoryEnd{}});
  }
  node.open = node.known = true;
  node.life = incarnation_;
  node.owners.SessionOpened({kLease, kOrphanGrace, kTombstone});
  node.to_shard.push_back(InventoryOf(index));
  if (untold) Say(index, protocol::Owner{object_, bit->number, true, bit->grace});
  Plan();
}

std::vector<planner::EventBody> OwnerWorld::InventoryOf(std::uint32_t index) const {
  const Node& node = nodes_[index];
  std::vector<planner::EventBody> events;
  const auto add = [&](protocol::NodeEvent event) {
    events.emplace_back(planner::NodeSaid{IdOf(index), std::move(event)});
  };
  if (node.copy) {
    const bool flag = node.ever_owned && !Faulty(OwnerFault::kNoFlagInInventory);
    add(protocol::Held{.object = object_,
                       .version = *node.copy,
                       .layout = layout_,
                       .metadata = "",
                       .marks = layout_.full_marks(),
                       .complete = true,
                       .primary = true,
                       .ever_owned = flag});
  }
  if (node.mark_until > now_) {
    add(protocol::Tombstone{object_, node.mark_until - now_, node.mark});
  }
  if (const auto owned = node.owners.Inventory(object_, now_)) {
    const bool answered = owned->number <= node.answered;
    const bool untold =
        owned->own
            ? Faulty(OwnerFault::kNoBits) || (Faulty(OwnerFault::kOnlyAnsweredBits) && !answered)
            : Faulty(OwnerFault::kNoNotes) || (Faulty(OwnerFault::kNotesTillAnswered) && answered);
    protocol::Owned said = *owned;
    if (Faulty(OwnerFault::kNoGraceInInventory)) said.grace.reset();
    if (!untold) add(said);
  }
  if (node.put == Put::kAsked) add(CreateOf(node));
  if (node.read == Read::kWaits) {
    add(protocol::Locate{object_, Faulty(OwnerFault::kSaysItOnce) ? 0 : kExpects});
  }
  add(protocol::InventoryEnd{});
  return events;
}

void OwnerWorld::Break(std::uint32_t index, bool leaves_words) {
  Node& node = nodes_[index];
  for (const auto& batch : node.to_shard) {
    const auto* said = std::get_if<planner::NodeSaid>(&batch.front());
    const auto* owner = std::get_if<protocol::Owner>(&said->event);
    const bool room = node.left_over.size() < kMostLeftOver;
    if (leaves_words && batch.size() == 1 && owner != nullptr && room) {
      node.left_over.push_back(*owner);
    }
  }
  node.to_shard.clear();
  node.to_node.clear();
  node.open = false;
  node.away_since = now_;
  if (node.told) node.unheard_since = now_;
  node.told = false;
  if (!Faulty(OwnerFault::kAnswersAlone)) node.owners.SessionEnded();
  if (!leaves_words) return;
  Tell(planner::NodeSuspended{IdOf(index)});
  Plan();
}

Time OwnerWorld::LostAt(const Node& node) const {
  return node.known && !node.open ? node.away_since + kGrace : kNever;
}

void OwnerWorld::Lose(std::uint32_t index) {
  nodes_[index].known = false;
  nodes_[index].left_over.clear();
  Tell(planner::NodeLost{IdOf(index)});
  Plan();
}

void OwnerWorld::Restart() {
  --options_.restarts;
  restarted_ = true;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (nodes_[i].open) Break(i, false);
    nodes_[i].known = false;
    nodes_[i].left_over.clear();
  }
  shard_ = planner::DirectoryState(DirectoryOptionsOf(++incarnation_), now_);
  Plan();
}

void OwnerWorld::NodeDies(std::uint32_t index) {
  --options_.node_deaths;
  died_ = true;
  if (nodes_[index].open) Break(index, true);
  Node& node = nodes_[index];
  node.alive = false;
  DropCopy(node);
  node.owners = {};
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (NodeOf(i) == index) clients_[i] = Client::kDead;
  }
}

// Of the shard, or of a node.
Time OwnerWorld::NextChange() const {
  Time next = kNever;
  for (const Node& node : nodes_) next = std::min({next, node.owners.next(), LostAt(node)});
  // While a node tells its inventory the shard asks to be called again and again.
  next = std::min(next, now_ + kLongest);
  if (plan_at_ == kNever) return next == now_ + kLongest ? kNever : next;
  planner::DirectoryState shard = shard_;
  const std::uint64_t changes = shard.changes();
  const bool collecting = shard.collecting();
  std::vector<planner::Action> actions;
  for (Time at = plan_at_; at < next;) {
    const Time again = shard.Plan(at, actions);
    if (shard.changes() != changes || shard.collecting() != collecting) return at;
    if (again == kNever) break;
    at = std::max(again, at + Duration{1});
  }
  return next == now_ + kLongest ? kNever : next;
}

// Outages are shorter than marks, and what nodes note of owned ids ends while all have sessions.
bool OwnerWorld::MayPass(Time time) const {
  const auto away = [](const Node& node) { return node.alive && !node.open; };
  if (std::ranges::none_of(nodes_, away)) return true;
  return std::ranges::all_of(nodes_, [&](const Node& node) {
    const bool ends = node.owners.Inventory(object_, now_) && !node.owners.Inventory(object_, time);
    return !ends && (!away(node) || time - node.away_since < kLongestOutage);
  });
}

// The shard is called whenever it asks to be.
void OwnerWorld::AdvanceTo(Time time) {
  if (time <= now_) return;
  while (true) {
    Time next = std::min(time, plan_at_);
    for (const Node& node : nodes_) {
      next = std::min({next, std::max(now_, node.owners.next()), std::max(now_, LostAt(node))});
    }
    now_ = std::max(now_, next);
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      if (LostAt(nodes_[i]) <= now_) Lose(i);
    }
    Plan();
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      planner::OwnershipState::Effects effects;
      nodes_[i].owners.Wake(now_, effects);
      Effect(i, effects);
    }
    if (now_ >= time) break;
  }
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Node& node = nodes_[NodeOf(i)];
    // A shard that started again knows no grace of a node that is away.
    Duration grace = options_.calls[i].grace.value_or(kOrphanGrace);
    if (restarted_) grace = std::min(grace, kOrphanGrace);
    const bool away = !node.told && now_ - node.unheard_since >= kGrace + grace;
    if (away && clients_[i] == Client::kOwns) clients_[i] = Client::kLapsed;
  }
}

}  // namespace hoplite::sim

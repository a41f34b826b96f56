// World: what nodes and the directory say to each other, and how sessions begin and end.
#include <utility>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

constexpr Duration kDirectoryDown = std::chrono::milliseconds(50);
constexpr Duration kReconnectWithin = std::chrono::milliseconds(100);

struct NodeOfWord {
  NodeId operator()(const planner::NodeJoined& joined) const { return joined.node.id; }
  NodeId operator()(const auto& word) const { return word.node; }
};

NodeId NodeOf(const planner::EventBody& body) { return std::visit(NodeOfWord(), body); }

}  // namespace

Time World::Tell(planner::EventBody body) {
  const NodeIndex index = IndexOf(NodeOf(body));
  const bool speaks = std::holds_alternative<planner::NodeSaid>(body) ||
                      std::holds_alternative<planner::NodeJoined>(body);
  // What stands still speaks when it goes on.
  const Time when =
      speaks ? lateness_.Hears(index, network_.Awake(index, now_)) : lateness_.Sees(index, now_);
  const std::uint64_t connection = members_[index].connection;
  At(when, [this, index, connection, life = directory_life_, body = std::move(body)] {
    if (!directory_ || life != directory_life_) return;
    members_[index].heard = connection;
    AddTo(digest_.Add(now_), body);
    if (pairs_) pairs_->Told(body, directory_->state(), now_);
    witness_.Told(body);
    if (const auto* said = std::get_if<planner::NodeSaid>(&body); said && reduction_) {
      if (witness_.open(said->node)) reduction_->witness.Told(said->event);
    }
    directory_->Apply({now_, body});
    plan_at_ = now_;
  });
  return when;
}

void World::Deliver(NodeId to, protocol::NodeAction action) {
  const NodeIndex index = IndexOf(to);
  if (index >= members_.size()) return Fail("an action is addressed to a node that never joined");
  const std::uint64_t connection = members_[index].heard;
  At(network_.Awake(index, now_ + options_.latency),
     [this, index, connection, action = std::move(action)] {
       Member& member = members_[index];
       if (!member.alive || !member.node.connected() || member.connection != connection) return;
       SyncMarks(index);
       if (HearReduce(index, action)) return;
       Effects effects;
       const bool helped = member.node.helping();
       member.node.Hear(action, now_, effects);
       Do(index, effects);
       if (member.node.helping() && !helped) HelpFor(index, now_);
     });
}

void World::Connect(NodeIndex index) {
  Member& member = members_[index];
  if (!member.alive || !directory_ || (member.connection > 0 && member.node.connected())) return;
  ++member.connection;
  SyncMarks(index);
  if (std::exchange(member.lost_in, 0) == directory_life_) {
    Effects effects;
    member.node.WasLost(effects);
    Do(index, effects);
  }
  const protocol::NodeInfo info{.id = member.node.id(),
                                .name = fmt::format("n{}", index),
                                .address = fmt::format("n{}:1", index),
                                .site = SiteName(index),
                                .link_bytes_per_second = DeclaredRate(index)};
  Tell(planner::NodeJoined{info, member.node.highest_incarnation()});
  Effects effects;
  member.node.Connected(directory_life_, now_, effects);
  AddInventory(index, effects.say);
  Do(index, effects);
}

std::string World::SiteName(NodeIndex index) const {
  return options_.links.sites > 1 ? fmt::format("s{}", SiteOf(options_, index)) : "";
}

std::uint64_t World::DeclaredRate(NodeIndex index) const {
  const bool told = options_.links.any() && !options_.unmeasured;
  return told ? RateOf(options_, index) : 0;
}

void World::LoseAfterGrace(NodeIndex index) {
  const NodeId id = members_[index].node.id();
  const Time seen = Tell(planner::NodeSuspended{id}) - options_.latency;
  const std::uint64_t connection = members_[index].connection;
  At(seen + options_.grace, [this, index, id, connection, life = directory_life_] {
    const bool back = members_[index].connection != connection;
    if (life != directory_life_ || back) return;
    members_[index].lost_in = life;
    Tell(planner::NodeLost{id});
  });
}

void World::Kill(NodeIndex index) {
  Member& member = members_[index];
  if (!member.alive) return;
  SyncMarks(index);
  member.alive = false;
  EndOutgoing(index, [this](NodeIndex receiver, GrantId grant) {
    FailStream(receiver, grant, protocol::Failure::kBroken);
  });
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if (const FlowId flow = network_.Feeding(index, s); flow != kNoFlow) network_.Close(now_, flow);
  }
  KillSlots(index);
  if (member.node.connected()) LoseAfterGrace(index);
}

void World::BreakSession(NodeIndex index, Duration duration) {
  Member& member = members_[index];
  if (!member.alive || !member.node.connected()) return;
  member.node.Disconnected();
  LoseAfterGrace(index);
  After(duration, [this, index] { Connect(index); });
}

void World::RestartDirectory() {
  directory_.reset();
  lateness_.Forget();
  const std::uint64_t down = ++directory_life_;
  plan_at_ = kNever;
  for (Member& member : members_) member.node.Disconnected();
  After(kDirectoryDown, [this, down] {
    // It was to restart once more meanwhile, and comes back after that, once: a second return would
    // be in the place of one with which nodes have sessions.
    if (directory_life_ != down) return;
    StartDirectory(options_.recovery_window);
    for (NodeIndex index = 0; index < members_.size(); ++index) {
      After(random_.Within(kReconnectWithin), [this, index] { Connect(index); });
    }
  });
}

}  // namespace hoplite::sim

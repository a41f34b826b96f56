// World: how nodes hear that what they have is final. A stripe of an ordinary object ends with its
// last byte. The target of several roots is final with the commit, which comes when somebody has all
// of its bytes: until then its streams stay open, without END.
#include <algorithm>
#include <iterator>

#include "sim/planner_world/world.h"

namespace hoplite::sim {

void World::StripeArrived(const Network::Whole& whole, NodeIndex source) {
  const EndWait wait{source, whole.node, grants_[whole.flow], whole.stripe};
  const Version version = members_[whole.node].node.copy()->version;
  if (!made_in_parts_.contains(version)) return EndArrives(wait);
  SayFull(whole.node);
  const VirtualNode& node = members_[source].node;
  const bool there = node.copy() && node.copy()->version == version;
  // Its source, or what that had, is gone: the receiver hears of it as of any stream.
  if (!members_[source].alive || !there) {
    const auto why = there ? protocol::Failure::kBroken : protocol::Failure::kNone;
    return After(options_.latency,
                 [this, wait, why] { FailStream(wait.receiver, wait.grant, why); });
  }
  end_waits_.push_back(wait);
  NoteWhole(source);
}

void World::EndArrives(const EndWait& wait) {
  Member& member = members_[wait.receiver];
  if (!member.alive) return;
  Effects effects;
  member.node.StripeWhole(wait.grant, wait.stripe, effects);
  Do(wait.receiver, effects);
}

// Who has a whole copy says END on its streams; what it said before its last byte has come since.
void World::NoteWhole(NodeIndex index) {
  Member& member = members_[index];
  const bool whole = member.alive && member.node.copy() && member.node.copy()->complete;
  if (!whole) return member.whole_since.reset();
  if (!member.whole_since) {
    member.whole_since = now_;
    TargetCommitted(index, member.node.copy()->version);  // an END came before the commit's word
  }
  std::vector<EndWait> ended;
  std::erase_if(end_waits_, [&](const EndWait& wait) {
    if (wait.source == index) ended.push_back(wait);
    return wait.source == index;
  });
  const Time comes = std::max(now_, *member.whole_since + options_.latency);
  for (const EndWait& wait : ended) {
    At(comes, [this, wait] { EndArrives(wait); });
  }
}

// Who lacks nothing but END says so at once (R21): the shard may be waiting for it. Whether it has seen
// an END before, on one of its streams, it knows without the shard.
void World::SayFull(NodeIndex index) {
  Member& member = members_[index];
  SyncMarks(index);
  const auto& copy = member.node.copy();
  if (!copy || copy->complete || !layout_.complete(copy->marks)) return;
  if (member.node.connected() && member.told_full != copy->version) {
    member.told_full = copy->version;
    const double rate = network_.InflowOf(now_, index).node_rate;
    Say(index, member.node.ProgressReport(static_cast<std::uint64_t>(rate)));
  }
  Effects effects;
  member.node.BytesWhole(effects);
  Do(index, effects);
}

// Somebody whom the shard believes alive: he may have died a moment ago.
bool World::SomeoneHasAll(const Version& version) {
  return std::ranges::any_of(members_, [&](const Member& member) {
    const auto& copy = member.node.copy();
    if (!copy || copy->version != version || !witness_.open(member.node.id())) return false;
    if (member.alive) SyncMarks(IndexOf(member.node.id()));
    return copy->complete || layout_.complete(copy->marks);
  });
}

}  // namespace hoplite::sim

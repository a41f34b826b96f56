// SmallWorld: what a death and a restart do, and the fingerprint of the whole state.
#include <utility>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"
#include "sim/small_world/small_world.h"

namespace hoplite::sim {

void SmallWorld::Die(std::uint32_t index) {
  --deaths_left_;
  Member& member = members_[index];
  member.alive = false;
  member.to_node.clear();
  if (member.node.connected()) {
    Tell(index, planner::NodeSuspended{member.node.id()});
    Tell(index, planner::NodeLost{member.node.id()});
  }
  std::erase_if(streams_, [&](const Stream& stream) { return stream.receiver == index; });
  std::erase_if(gives_, [&](const auto& give) { return IndexOf(give.to.id) == index; });
  for (Stream& stream : streams_) {
    const bool from_it = IndexOf(stream.fetch.source) == index && stream.open != 0;
    if (from_it) stream.fate = Stream::Fate::kBroken;
  }
  if (reduction_) KillSlots(index);
}

void SmallWorld::Restart() {
  --restarts_left_;
  directory_ = PlantedShard(options_.fault, DirectoryOptionsOf(++incarnation_), now_);
  witness_.DirectoryRestarted();
  if (reduction_) reduction_->witness.DirectoryRestarted();
  if (pairs_) pairs_->DirectoryRestarted();
  for (Member& member : members_) {
    member.to_directory.clear();
    member.to_node.clear();
    member.node.Disconnected();
  }
  Plan();
}

protocol::NodeInfo SmallWorld::InfoOf(std::uint32_t index) const {
  constexpr std::uint64_t kSlow = 125'000;
  const std::string name = fmt::format("n{}", index);
  protocol::NodeInfo info{.id = members_[index].node.id(), .name = name, .address = name + ":1"};
  if (options_.two_sites) info.site = index % 2 == 0 ? "even" : "odd";
  if (options_.slow_link) info.link_bytes_per_second = index == 1 ? kSlow : 8 * kSlow;
  return info;
}

void SmallWorld::Reconnect(std::uint32_t index) {
  VirtualNode& node = members_[index].node;
  std::vector<planner::EventBody> batch{
      planner::NodeJoined{InfoOf(index), node.highest_incarnation()}};
  Effects inventory;
  node.Connected(incarnation_, now_, inventory);
  if (reduction_) AddInventory(index, inventory.say);
  for (protocol::NodeEvent& event : inventory.say) {
    batch.push_back(planner::NodeSaid{node.id(), std::move(event)});
  }
  members_[index].to_directory.push_back(std::move(batch));
}

std::uint64_t SmallWorld::Fingerprint() const {
  Digest digest;
  digest.Add(directory_.Fingerprint()).Add(now_).Add(plan_at_).Add(incarnation_);
  digest.Add(deaths_left_).Add(restarts_left_).Add(put_again_left_).Add(delete_left_);
  digest.Add(lose_room_left_).Add(ask_again_left_).Add(join_left_);
  for (const Member& member : members_) {
    member.node.AddTo(digest);
    digest.Add(member.alive).Add(member.has_memory).Add(member.wants_memory);
    digest.Add(member.said_starved).Add(member.asks_in_vain);
    for (const auto& batch : member.to_directory) {
      for (const planner::EventBody& event : batch) AddTo(digest, event);
      digest.Add(batch.size());
    }
    digest.Add(member.to_directory.size());
    for (const protocol::NodeAction& action : member.to_node) AddTo(digest, action);
    digest.Add(member.to_node.size());
    for (const auto& [source, version] : member.sources) digest.Add(source).Add(version);
    for (const auto& [number, slot] : member.slots) slot.AddTo(digest);
    digest.Add(member.slots.size());
  }
  digest.Add(lost_gives_left_).Add(gives_.size());
  for (const protocol::HandedOn& give : gives_) {
    digest.Add(Raw(give.to.id));
    AddTo(digest, protocol::NodeAction(give.given));
  }
  for (const Stream& stream : streams_) {
    digest.Add(stream.receiver).Add(stream.fetch.grant).Add(stream.fetch.source);
    digest.Add(stream.fetch.stripes).Add(stream.fetch.equality_ok).Add(stream.open);
    for (const std::uint32_t mark : stream.fetch.marks) digest.Add(mark);
    digest.Add(stream.fate).Add(stream.stuck.has_value()).Add(stream.stuck.value_or(0));
  }
  witness_.AddTo(digest);
  if (pairs_) pairs_->AddTo(digest);
  cuts_.AddTo(digest);
  digest.Add(cut_left_).Add(heal_left_).Add(waits_for_way_);
  if (reduction_) reduction_->AddTo(digest);
  return digest.value();
}

}  // namespace hoplite::sim

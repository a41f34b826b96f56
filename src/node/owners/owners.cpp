#include "node/owners/owners.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace hoplite::node {

using Effects = planner::OwnershipState::Effects;

Owners::Owners(asio::io_context& loop, directory::DirectoryClient& directory, std::size_t limit)
    : loop_(loop), directory_(directory), limit_(limit), shards_(directory.shard_count()) {}

std::size_t Owners::ShardOf(const ObjectId& object) const {
  return directory::ShardOf(object, shards_.size());
}

Owners::Asking::Asking(Owners& owners, const ObjectId& object, Call& call)
    : owners_(owners), object_(object), call_(call), ticket_(++owners.tickets_) {
  owners_.asking_.emplace(ticket_, this);
  Effects effects;
  owners_.StateOf(object_).Own(call_.client->number, object_, ticket_, call_.grace, NowSinceBoot(),
                               owners_.directory_.vouched(owners_.ShardOf(object_)), effects);
  owners_.Carry(effects);
}

Owners::Asking::~Asking() {
  owners_.asking_.erase(ticket_);
  if (result_) return;
  Effects effects;
  owners_.StateOf(object_).GiveUp(call_.client->number, object_, ticket_, NowSinceBoot(), effects);
  owners_.Carry(effects);
}

void Owners::Disown(const ObjectId& object, const Owner& client) {
  Effects effects;
  StateOf(object).Disown(client.number, object, NowSinceBoot(), effects);
  Carry(effects);
}

void Owners::OnClientEnd(const Owner& client, Operations::ClientEnd how) {
  for (const auto& [ticket, asking] : asking_) {
    if (asking->call_.client->number == client.number) asking->call_.changed.Notify();
  }
  Effects effects;
  for (planner::OwnershipState& shard : shards_) {
    if (how == Operations::ClientEnd::kClosed) {
      shard.Closed(client.number, NowSinceBoot(), effects);
    } else {
      shard.Died(client.number, NowSinceBoot());
    }
  }
  Carry(effects);
}

bool Owners::has_room(const ObjectId& object) const {
  const auto known = Inventory(object);
  return (known && known->own) || owned().count + puts_.size() < limit_;
}

OwnedIds Owners::owned() const {
  OwnedIds owned{.limit = limit_};
  for (const planner::OwnershipState& shard : shards_) owned.count += shard.owned_ids();
  return owned;
}

std::uint64_t Owners::BeginPut(const ObjectId& object, const Owner& client,
                               std::optional<Duration> grace) {
  return puts_[object] = StateOf(object).Asks(client.number, object, grace);
}

void Owners::OnPutAnswered(const ObjectId& object, bool accepted) {
  const auto put = puts_.extract(object);
  if (put) Settle(object, put.mapped(), accepted);
}

std::uint64_t Owners::BeginReduction(const ObjectId& target, const Owner& client,
                                     std::optional<Duration> grace) {
  return StateOf(target).Asks(client.number, target, grace);
}

// What may be owned is disowned, so that the shard has it right in any case.
void Owners::OnReductionEnd(const ObjectId& target, const Owner& client, std::uint64_t number,
                            ReductionEnd end) {
  const bool owned_anyhow = StateOf(target).Owns(client.number, target);
  Settle(target, number, end != ReductionEnd::kNever);
  if (end == ReductionEnd::kUnknown && !owned_anyhow) Disown(target, client);
}

void Owners::Settle(const ObjectId& object, std::uint64_t number, bool accepted) {
  Effects effects;
  planner::OwnershipState& state = StateOf(object);
  if (accepted) {
    state.Accepted(object, number, NowSinceBoot(), effects);
  } else {
    state.Refused(object, number, NowSinceBoot(), effects);
  }
  Carry(effects);
}

void Owners::Hear(const protocol::OwnerAnswer& answer) {
  Effects effects;
  StateOf(answer.object).Hear(answer, NowSinceBoot(), effects);
  Carry(effects);
}

void Owners::OnDeleted(const ObjectId& object) {
  Effects effects;
  StateOf(object).Deleted(object, effects);
  Carry(effects);
}

void Owners::OnTerms(std::size_t shard, const Terms& terms) {
  shards_.at(shard).SessionOpened(
      {.lease = terms.lease, .orphan_grace = terms.orphan_grace, .tombstone = terms.tombstone});
}

void Owners::OnSessionEnd(std::size_t shard) { shards_.at(shard).SessionEnded(); }

std::optional<protocol::Owned> Owners::Inventory(const ObjectId& object) const {
  return StateOf(object).Inventory(object, NowSinceBoot());
}

void Owners::Carry(const Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) directory_.Send(event);
  for (const auto& [ticket, result] : effects.answer) {
    const auto asking = asking_.find(ticket);
    if (asking == asking_.end()) continue;
    asking->second->result_ = result;
    asking->second->call_.changed.Notify();
  }
  SetAlarm();
}

void Owners::Wake() {
  Effects effects;
  for (planner::OwnershipState& shard : shards_) shard.Wake(NowSinceBoot(), effects);
  alarm_at_ = kNever;
  alarm_.reset();
  Carry(effects);
}

// One that comes too early looks again.
void Owners::SetAlarm() {
  Time next = kNever;
  for (const planner::OwnershipState& shard : shards_) next = std::min(next, shard.next());
  if (next >= alarm_at_) return;
  alarm_at_ = next;
  alarm_.emplace(loop_, Now() + (next - NowSinceBoot()), [this] { Wake(); });
}

}  // namespace hoplite::node

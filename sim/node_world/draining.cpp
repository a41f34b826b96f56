// Nodes that are taken out of the cluster: they hand their only copies on and leave (R70).
#include <algorithm>
#include <utility>

#include "sim/node_world/world.h"

namespace hoplite::node_world {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Lease and grace: then all shards have given a dead node up.
constexpr Duration kNoticed = seconds(2);

}  // namespace

// Somebody stays.
void World::DrainOne() {
  Member* const member = RandomMemberWithRoom();
  const auto staying = std::ranges::count_if(hosts_, [member](const Host& host) {
    return host.member != nullptr && host.member.get() != member &&
           !host.member->assembly().drainage.begun();
  });
  if (member == nullptr || staying == 0) return;
  Tell("{} is drained", member->name());
  calls_.Drain(*member, time_.Now() + milliseconds(50) + random_.Within(seconds(2)));
}

// When nothing is left that only that node had, everything that was whole there is at another. What
// takers that died had taken went with them, and a shard may take one that has just died for a holder.
void World::CheckHandedOn(const CallRecord& record) {
  const std::uint32_t host = record.member->index();
  time_.After(milliseconds(1), [this, host] { LeaveDrained(host); });
  if (record.error || record.left_count > 0) return;
  if (last_end_ && *last_end_ + kNoticed > record.begun) return;
  for (const ObjectId& object : record.held) {
    if (!MayBeGone(object) && !Exists(object)) {
      Broken(fmt::format("P20: {} is not there any more after the {}", object.ToShortString(),
                         ToString(record)));
    }
  }
}

// By a Delete, or with its last owner. What lives in the directory, or is put anew, may be lost with
// the shard.
bool World::MayBeGone(const ObjectId& object) const {
  return options_.owners > 0 || options_.restarts > 0 ||
         std::ranges::any_of(calls_.all(), [&](const CallRecordPtr& record) {
           return record->kind == CallKind::kDelete && record->object == object;
         });
}

void World::LeaveDrained(std::size_t host) {
  if (!hosts_[host].member || leaves_ || !hosts_[host].member->assembly().drainage.begun()) return;
  Member& member = *hosts_[host].member;
  last_end_ = time_.Now();
  Tell("{} leaves", member.name());
  CountWork(member);
  calls_.Abandon(member);
  owning_.Abandon(member);
  member.Stop();
  leaving_.push_back(std::move(hosts_[host].member));
}

}  // namespace hoplite::node_world

// The properties, as far as they are seen from outside of the nodes.
#include <algorithm>
#include <map>
#include <utility>

#include "directory/directory_client.h"
#include "sim/node_world/world.h"

namespace hoplite::node_world {
namespace {

// A call is answered within this time after its deadline, or after its process goes on.
constexpr Duration kSlack = std::chrono::milliseconds(100);
// A Delete is heard everywhere within this time after it was answered.
constexpr Duration kHearsay = std::chrono::milliseconds(300);

// At most so often in a history of one object is a receiver sent to a source that is not ahead of
// it: the marks that a shard was told are sometimes old.
constexpr int kMostRefusals = 10;

// Turns of a node's loops within a second: ten times what any history needs.
constexpr Duration kTurnsOf = std::chrono::seconds(1);
constexpr std::uint64_t kMostTurns = 20'000;
// Memory that can be spared is given back within this time.
constexpr Duration kMostHoarding = std::chrono::seconds(1);
// Whoever waits looks again each second.
constexpr Duration kMostIdle = std::chrono::seconds(2);

// The cost of a look grows with the number of objects, so a crowd is looked at less often.
constexpr std::uint64_t kCrowdEvery = 64;

// Between the copies that stay where they are until they are deleted.
std::uint64_t LargestGap(const store::ObjectStore& store) {
  std::map<std::uint64_t, std::uint64_t> staying;  // offset -> bytes
  for (const store::CopyPtr& copy : store.List()) {
    if (store.KindOf(copy->object()) != store::CopyKind::kPrimary) continue;
    const auto extent =
        store::ExtentAllocator::Taken(copy->segment_offset(), copy->layout().size_bytes);
    staying.emplace(extent.offset, extent.size);
  }
  const std::uint64_t capacity = store.usage().capacity_bytes;
  staying.emplace(capacity, 0);
  std::uint64_t largest = 0;
  std::uint64_t end = 0;
  for (const auto& [offset, bytes] : staying) {
    largest = std::max(largest, offset - end);
    end = offset + bytes;
  }
  return largest;
}

}  // namespace

std::size_t World::ShardOf(const ObjectId& object) const {
  return directory::ShardOf(object, directory_->shard_count());
}

void World::CheckDirectory() {
  if (options_.crowd > 0 && ++turns_ % kCrowdEvery != 0) return;
  for (std::size_t shard = 0; shard < directory_->shard_count(); ++shard) {
    if (!directory_->up(shard)) continue;
    // Most turns only hear heartbeats.
    const std::pair state(directory_->lives(shard), directory_->state(shard).changes());
    if (std::exchange(checked_[shard], state) == state) continue;
    const std::string wrong = directory_->state(shard).BrokenInvariant();
    if (!wrong.empty()) Broken(wrong);
    if (options_.rushes > 0) NoteForests(shard);
  }
}

void World::NoteForests(std::size_t shard) {
  for (std::uint32_t i = 0; i < options_.objects; ++i) {
    if (directory_->state(shard).GroupsOf(Object(i)) > 1) forests_.insert(Object(i));
  }
  report_.forests = forests_.size();
}

void World::CheckDeadlines() {
  if (const CallRecord* late = calls_.Late(kSlack)) {
    Broken(fmt::format("P9: {} is not answered at its deadline", ToString(*late)));
  }
}

// A wait ends by a word, a byte or a moment: no loop of a node runs on and on without one.
void World::CheckTurns() {
  for (Host& host : hosts_) {
    if (!host.member) continue;
    const std::uint64_t turns = host.member->turns() - host.turns_before;
    report_.most_turns = std::max(report_.most_turns, turns);
    if (turns > kMostTurns) {
      Broken(fmt::format("P13: {} spins: {} turns within {:.3f} s", host.member->name(), turns,
                         ToSeconds(time_.Now() - host.counted_since)));
    }
    if (time_.Now() < host.counted_since + kTurnsOf) continue;
    host.counted_since = time_.Now();
    host.turns_before = host.member->turns();
  }
}

// R45: what a part of an operation waits for is not kept by another part that can do without.
void World::CheckMemory() {
  for (Host& host : hosts_) {
    if (!host.member) continue;
    const bool frozen = time_.Now() < host.member->frozen_until();
    const node::MemoryBroker& memory = host.member->assembly().memory;
    report_.waits += memory.waited_for() ? 1 : 0;
    if (frozen || !memory.hoarded()) {
      host.hoards_since = kNever;
    } else if (host.hoards_since == kNever) {
      host.hoards_since = time_.Now();
    } else if (time_.Now() > host.hoards_since + kMostHoarding) {
      Broken(fmt::format("P14: {} holds memory for an operation that waits for memory",
                         host.member->name()));
    }
    if (frozen || !memory.leaves_disk_idle()) {
      host.idle_since = kNever;
    } else if (host.idle_since == kNever) {
      host.idle_since = time_.Now();
    } else if (time_.Now() > host.idle_since + kMostIdle) {
      Broken(fmt::format("P21: somebody waits for memory at {}, which could write to its disk",
                         host.member->name()));
    }
  }
}

// R46: a fetch that others depend on goes at once, however many are under way. At the moment when it
// may try again its node has yet to run, so a fetch is held up only if it still waits later.
void World::CheckPlaces() {
  const bool suspected =
      std::ranges::any_of(hosts_, [](const Host& host) { return host.held_up_since != kNever; });
  if (options_.crowd > 0 && !suspected && report_.steps % kCrowdEvery != 0) return;
  for (Host& host : hosts_) {
    const bool runs = host.member && time_.Now() >= host.member->frozen_until();
    const ObjectId* const object = runs ? host.member->HeldUp() : nullptr;
    if (object == nullptr) {
      host.held_up_since = kNever;
    } else if (host.held_up_since == kNever) {
      host.held_up_since = time_.Now();
    } else if (time_.Now() > host.held_up_since) {
      Broken(fmt::format("P15: what others need of {} waits for a place at {}",
                         object->ToShortString(), host.member->name()));
    }
  }
}

// Checks what a reader was given against the directory and earlier answers.
void World::CheckAnswer(const CallRecord& record) {
  CheckOneEnd(record);
  if (record.kind == CallKind::kDrain) return CheckHandedOn(record);
  const bool reads = record.kind == CallKind::kGet || record.kind == CallKind::kGetInto ||
                     record.kind == CallKind::kOpen;
  if (!reads || record.error) return;
  CheckCommitted(record);
  CheckNotDeleted(record);
}

// R69: readers of a target and the caller of its reduction are told one end. (A shard that was
// started again has forgotten ends.)
void World::CheckOneEnd(const CallRecord& record) {
  if (options_.restarts > 0) return;
  const bool ended = record.error && record.error->message.starts_with("the reduction into ");
  if (record.kind != CallKind::kReduce && ended) told_failed_.insert(record.object);
  if (record.kind == CallKind::kReduce && record.succeeded() &&
      told_failed_.contains(record.object)) {
    Broken(
        fmt::format("P19: {} succeeded, and a reader was told that it failed", ToString(record)));
  }
}

// A shard that has lost its state may see the slots of a sum that was committed.
void World::CheckCommitted(const CallRecord& record) {
  const std::size_t shard = ShardOf(record.object);
  if (options_.restarts > 0 || !directory_->up(shard)) return;
  const auto known = directory_->state(shard).Find(record.object);
  if (known && !known->slots.empty()) {
    Broken(fmt::format("P6: {} was given before its commit", ToString(record)));
  }
}

// A Get must not find an object whose Delete was answered a while before the Get began and after
// every attempt to create the object had ended. Checked while everybody hears the shards.
void World::CheckNotDeleted(const CallRecord& record) {
  if (!Calm()) return;
  Time created{};
  Time deleted{};
  for (const CallRecordPtr& other : calls_.all()) {
    if (other->object != record.object || other.get() == &record) continue;
    if (other->kind == CallKind::kPut || other->kind == CallKind::kFail ||
        other->kind == CallKind::kReduce) {
      created = std::max(created, other->answered() ? other->answered_at : kNever);
    } else if (other->kind == CallKind::kDelete && other->succeeded()) {
      if (other->answered_at + kHearsay < record.begun) deleted = std::max(deleted, other->begun);
    }
  }
  if (created < deleted) {
    Broken(fmt::format("P5: {} was given after its Delete", ToString(record)));
  }
}

bool World::Calm() const {
  return options_.broken_sessions + options_.partitions + options_.one_way_partitions +
             options_.clogs + options_.freezes + options_.crashes + options_.returns +
             options_.restarts ==
         0;
}

void World::CheckClosed(const wire::NodeMessage& message) {
  for (const protocol::NodeEvent& event : message.events) {
    const auto* closed = std::get_if<protocol::GrantClosed>(&event);
    if (closed == nullptr) continue;
    if (!closed_grants_.emplace(closed->object, closed->grant).second) {
      Broken(fmt::format("P8: a grant of {} is closed twice", closed->object.ToShortString()));
    }
    const bool refused = closed->failure == protocol::Failure::kNotAhead;
    if (refused && ++refusals_[closed->object] > kMostRefusals) {
      Broken(
          fmt::format("P11: receivers of {} are sent again and again to who is not ahead of them",
                      closed->object.ToShortString()));
    }
  }
}

// A session lasts unless a fault ended it (R15, R43).
void World::CheckEnded(Time opened) {
  if (opened <= disturbed_until_) return;
  Broken(fmt::format("P12: a session that opened at {:.3f} ended without a fault",
                     ToSeconds(opened - start_)));
}

// Without state files a shard may take a newcomer for one of another cluster; nobody else (R44).
void World::CheckRefused(NodeId node, const Error& why) {
  const auto host = std::ranges::find_if(hosts_, [&](const Host& one) {
    return one.member && one.member->assembly().settings.self == node;
  });
  const bool newcomer = host == hosts_.end() || host - hosts_.begin() >= options_.nodes;
  if (options_.newcomers == 0 || (newcomer && !options_.state_files)) return;
  Broken(fmt::format("P16: {}, with objects, is refused: {}",
                     host == hosts_.end() ? "a node that left" : host->member->name(),
                     why.message));
}

// An object that was put and that no call deletes is there when all faults are over. With state files
// nodes are away for longer than a shard waits for what they hold: a Put of the same id that is
// taken back replaces the object then (R15, R47).
void World::CheckKept() {
  if (options_.newcomers == 0 || options_.state_files) return;
  std::set<ObjectId> deleted;
  for (const CallRecordPtr& record : calls_.all()) {
    if (record->kind == CallKind::kDelete) deleted.insert(record->object);
  }
  for (const CallRecordPtr& record : calls_.all()) {
    const bool puts = record->kind == CallKind::kPut || record->kind == CallKind::kFail;
    const bool stays = puts && record->succeeded();
    if (!stays || deleted.contains(record->object) || Available(record->object)) continue;
    Broken(fmt::format("P16: what {} put is not there any more", ToString(*record)));
  }
}

// What a client owns is not deleted, as far as its shard is up.
void World::CheckOwned() {
  const std::string broken = owning_.Broken([this](const ObjectId& object) {
    const std::size_t shard = ShardOf(object);
    return directory_->up(shard) && directory_->state(shard).Owners(object).deleted;
  });
  if (!broken.empty()) Broken(broken);
}

// Names an object that nobody owns any more and that is still there; empty: there is none. Of what
// was owned, but its owner's node and the shard died before a holder heard of it, nothing is
// promised.
std::string World::OwnedByNobody() const {
  const std::uint32_t ends = options_.crashes + options_.returns + options_.drains;
  if (ends > 0 && options_.restarts > 0) return "";
  for (const ObjectId& object : owning_.owned()) {
    if (Available(object)) return object.ToShortString() + " is owned by nobody, and still there";
  }
  return "";
}

// Whether the directory has the object, or a living process that the directory may know of.
bool World::Exists(const ObjectId& object) const {
  const auto known = directory_->state(ShardOf(object)).Find(object);
  if (known && known->inlined) return true;
  return std::ranges::any_of(hosts_, [&](const Host& host) {
    const auto copy = host.member ? host.member->assembly().store.Find(object) : nullptr;
    return copy && copy->state() == store::CopyState::kFinal;
  });
}

// The same, and no Put of it is being taken back: until that is confirmed, the node that began the
// Put fetches nothing of it (R47).
bool World::Available(const ObjectId& object) const {
  const bool withdrawn = std::ranges::any_of(hosts_, [&](const Host& host) {
    const auto entry = host.member ? host.member->assembly().table.Find(object) : nullptr;
    return entry && entry->withdrawal().open();
  });
  return !withdrawn && Exists(object);
}

bool World::Fits(Member& member, const ObjectId& object) const {
  const auto known = directory_->state(ShardOf(object)).Find(object);
  if (!known) return true;
  const store::ObjectStore& store = member.assembly().store;
  const store::CopyPtr here = store.Find(object);
  if (here && !here->on_disk()) return true;
  const std::uint64_t used = member.assembly().memory.used_bytes();
  return used + known->size_bytes <= store.usage().capacity_bytes / 2 &&
         LargestGap(store) >= known->size_bytes;
}

// Whether the coordinator has room for every partial result, even if no other node has.
bool World::FitsSum(const CallRecord& record) const {
  const node::Assembly& assembly = record.member->assembly();
  const std::uint64_t sums = (record.sum.sources.size() + 2) * sum_bytes_;
  return assembly.memory.used_bytes() + sums <= assembly.store.usage().capacity_bytes;
}

// Whether the member has room for a window on the object, which never fits as a whole.
bool World::FitsWindow(Member& member, const ObjectId& object) const {
  const auto known = directory_->state(ShardOf(object)).Find(object);
  if (!known || !options_.is_small(member.index())) return false;
  const node::Assembly& assembly = member.assembly();
  if (assembly.store.FitsEver(known->size_bytes)) return false;
  const std::uint64_t window = assembly.memory.WindowBytes(Layout::For(known->size_bytes));
  return assembly.memory.used_bytes() + window <= assembly.store.usage().capacity_bytes;
}

// Names a call that still waits although nothing stands in its way any more; empty if there is
// none.
std::string World::Overdue() const {
  for (const CallRecordPtr& record : calls_.open()) {
    const bool reads = record->kind == CallKind::kGet || record->kind == CallKind::kOpen;
    const bool sums =
        record->kind == CallKind::kReduce &&
        std::ranges::all_of(record->sum.sources,
                            [&](const ObjectId& source) {
                              return Available(source) && Fits(*record->member, source);
                            }) &&
        FitsSum(*record);
    const bool streams =
        record->kind == CallKind::kGetInto && Available(record->object) &&
        (Fits(*record->member, record->object) || FitsWindow(*record->member, record->object));
    const bool due =
        streams || (reads && Available(record->object) && Fits(*record->member, record->object)) ||
        sums || record->kind == CallKind::kDelete || record->kind == CallKind::kDrain;
    if (due) return ToString(*record);
  }
  return "";
}

// Names something that still goes on and that a fault has caused or could have stopped; empty if
// there is nothing.
std::string World::Unsettled() const {
  if (!leaving_.empty()) return fmt::format("P10: {} has not left", leaving_.front()->name());
  for (const Host& host : hosts_) {
    if (!host.member || !host.member->assembly().drainage.begun()) continue;
    return fmt::format("P10: {} is still drained", host.member->name());
  }
  // A shard to which nobody speaks makes no turn.
  if (std::ranges::none_of(hosts_, [](const Host& host) { return host.member != nullptr; })) {
    return "";
  }
  for (std::size_t shard = 0; shard < directory_->shard_count(); ++shard) {
    // Until then a node may read a copy that another Put has replaced while it was away.
    if (!directory_->state(shard).knows_members()) {
      return fmt::format("P10: shard {} is still told what its nodes hold", shard);
    }
    const auto nodes = directory_->state(shard).Nodes(Now());
    for (const Host& host : hosts_) {
      const auto is_it = [&host](const protocol::NodeView& node) {
        return host.member && node.node.id == host.member->assembly().settings.self;
      };
      const auto known = std::ranges::find_if(nodes, is_it);
      const bool alive = known != nodes.end() && known->alive;
      if (host.member && !alive) return fmt::format("P10: {} has no session", host.member->name());
    }
    for (const protocol::NodeView& node : nodes) {
      if (!node.alive) return fmt::format("P10: {} stays suspended", node.node.name);
    }
    for (const protocol::ObjectView& object : directory_->state(shard).Objects()) {
      // An object that lacks its sources, or that was lost with its last holder, is pulled until it
      // comes.
      const bool whole = std::ranges::any_of(object.holders, &protocol::HolderView::complete);
      if (object.transfers.empty() || !whole) continue;
      return fmt::format("P10: {} still pulls {} from {}", object.transfers.front().to_name,
                         object.object.ToShortString(), object.transfers.front().from_name);
    }
  }
  const std::string waits = Overdue();
  if (!waits.empty()) return fmt::format("P9: {} waits, although nothing stands in its way", waits);
  const std::string taken_back = TakenBack();
  return taken_back.empty() ? "" : "P10: " + taken_back;
}

// Names a Put of which its node has not heard that it is taken back (R47); empty if there is none.
// Until then nothing of that object counts as available, whoever has it.
std::string World::TakenBack() const {
  for (const Host& host : hosts_) {
    if (!host.member) continue;
    for (const auto& [object, entry] : host.member->assembly().table.entries()) {
      if (!entry->withdrawal().open()) continue;
      return fmt::format("{} still takes back its put of {}", host.member->name(),
                         object.ToShortString());
    }
  }
  return "";
}

// Says what is left; empty when everything that was deleted is forgotten as well.
std::string World::Left() const {
  for (std::size_t shard = 0; shard < directory_->shard_count(); ++shard) {
    const auto objects = directory_->state(shard).Objects();
    if (!objects.empty()) {
      return fmt::format("the directory still knows {}", objects.front().object.ToShortString());
    }
  }
  for (const Host& host : hosts_) {
    if (!host.member) continue;
    node::Assembly& assembly = host.member->assembly();
    const store::StoreUsage usage = assembly.store.usage();
    if (usage.used_bytes > 0) {
      const auto listed = assembly.store.After({}, 1);
      return fmt::format("{} bytes of {} copies are left at {}{}", usage.used_bytes, usage.copies,
                         host.member->name(),
                         listed.empty() ? "" : ": " + listed.front()->object().ToShortString());
    }
    if (assembly.spiller && assembly.spiller->used_bytes() > 0) {
      return fmt::format("{} bytes are left on the disk of {}", assembly.spiller->used_bytes(),
                         host.member->name());
    }
    if (!assembly.table.entries().empty()) {
      return fmt::format("{} still does something about {}", host.member->name(),
                         assembly.table.entries().begin()->first.ToShortString());
    }
  }
  return "";
}

void World::CheckCounters() {
  for (const Host& host : hosts_) {
    if (host.member && host.member->assembly().counters.corrupt_blocks > 0) {
      Broken(fmt::format("P3: {} received a block that fails its checksum", host.member->name()));
    }
  }
}

}  // namespace hoplite::node_world

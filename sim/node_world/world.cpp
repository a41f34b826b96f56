// The engine and the phases.
#include "sim/node_world/world.h"

#include <algorithm>
#include <ranges>
#include <utility>
#include <variant>

namespace hoplite::node_world {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// From the end of the last fault until every wait that it caused is over: sessions come back, the
// grace of lost nodes ends, a restarted shard has collected, silent sources are given up.
constexpr Duration kQuiet = seconds(8);
constexpr Duration kService = seconds(10);
constexpr Duration kTombstone = seconds(2);  // the least that is accepted: lease and grace
// Faults last for less, so that no owner is given up because of them.
constexpr Duration kOrphanGrace = seconds(10);
constexpr Duration kTombstoneOfOwned = seconds(13);  // longer than lease, grace and orphan grace
// Entries of nodes are swept once a second.
constexpr Duration kForget = milliseconds(2500);
constexpr Duration kLook = milliseconds(100);
// All tasks of a node end within this time after it was stopped, also a connect that is under way.
constexpr Duration kLeave = seconds(3);

directory::ServiceOptions ServiceOptionsOf(const Options& history) {
  directory::ServiceOptions options;
  options.planner.inline_limit_bytes = kInlineLimitBytes;
  if (history.full_links) {
    options.planner.inline_limit_bytes = kInlineLimitOfFullLinks;
    options.planner.inline_ahead_bytes = 0;
    options.planner.holder_gives_from_bytes = 0;
    options.planner.inline_ahead = Duration{0};
    if (history.fault == PlantedFault::kTrustsGives) options.planner.give_patience = seconds(1000);
  }
  options.planner.tombstone = history.owners > 0 ? kTombstoneOfOwned : kTombstone;
  options.planner.orphan_grace = kOrphanGrace;
  options.planner.recovery_window = Duration(0);
  if (history.rushes > 0) options.planner.forest_from = 2;
  options.pace = history.pace;
  // Shards that have heard of no link yet take it for one that is too fast for a ring.
  if (history.rings || history.rushes > 0) {
    options.planner.link = {.latency = history.link.latency,
                            .overhead = Duration{0},
                            .bytes_per_second = static_cast<double>(history.link.bytes_per_second)};
  }
  return options;
}

directory::Pace PaceOfNodes(const Options& history) {
  constexpr std::size_t kAll = 1_GiB;
  const bool at_once = history.fault == PlantedFault::kTellsAllAtOnce;
  return at_once ? directory::Pace{kAll, kAll, kAll} : history.pace;
}

}  // namespace

World::World(const Options& options, std::function<void(const std::string&)> tell)
    : options_(options),
      tell_(std::move(tell)),
      random_(options.seed),
      start_(time_.Now()),
      internet_(
          std::make_shared<net::Internet>(directory_loop_, options.link, options.seed ^ 0x5eed)),
      network_(internet_->network),
      calls_(time_, model_,
             {.broken = [this](const std::string& what) { Broken(what); },
              .answered =
                  [this](const CallRecord& record) {
                    digest_.Add((time_.Now() - start_).count()).Add(record.error ? 2 : 1);
                    CheckAnswer(record);
                    Tell("{}: {}", ToString(record),
                         record.error ? record.error->ToString() : "done");
                  },
              .forgets_pins = options.fault == PlantedFault::kForgetsPins}) {
  internet_->broken = [this](const std::string& what) { Broken(what); };
  internet_->on_payload = [this] { OnPayload(); };
  directory_ = std::make_unique<directory::SimDirectory>(
      directory_loop_, network_,
      directory::SimDirectory::Settings{
          .service = ServiceOptionsOf(options_),
          .shards = options_.shards,
          .pace = PaceOfNodes(options_),
          .state_files = options_.state_files,
          .first_decides = options_.fault == PlantedFault::kFirstDecides,
          .forgets_state = options_.fault == PlantedFault::kForgetsItsState});
  directory_->OnSaid([this](const wire::NodeMessage& message) {
    AddToDigest(message.events);
    NoteRings(message.events);
    CheckClosed(message);
  });
  directory_->OnAnswered(
      [this](const wire::ShardMessage& message) { AddToDigest(message.actions); });
  directory_->OnEnded([this](Time opened) { CheckEnded(opened); });
  directory_->OnRefused([this](NodeId node, const Error& why) { CheckRefused(node, why); });
  for (std::uint32_t i = 0; i < options_.nodes; ++i) {
    hosts_.push_back({.id = network_.AddHost(), .member = nullptr});
  }
  CutPair();
  sum_bytes_ = 8 * (1 + random_.Below(options_.most_blocks * 16_KiB / 8));
}

World::~World() = default;

void World::CutPair() {
  if (!options_.cut_pair) return;
  using enum net::SimNetwork::Cut;
  const auto how = options_.cut_refuses ? kRefuses : kSwallows;
  network_.CutOff(hosts_[1].id, hosts_[0].id, how);
  if (options_.cut_both_ways) network_.CutOff(hosts_[0].id, hosts_[1].id, how);
}

void World::NoteRings(const std::vector<protocol::NodeEvent>& words) {
  for (const protocol::NodeEvent& word : words) {
    const auto* plan = std::get_if<protocol::ReduceOrders>(&word);
    if (plan == nullptr) continue;
    const auto roots = std::ranges::count_if(
        plan->orders, [](const protocol::PlannedOrder& planned) { return planned.order.root(); });
    if (roots > 1) ringed_.insert(plan->object);
  }
}

void World::TellLine(const std::string& line) const {
  tell_(fmt::format("{:9.6f}  {}", ToSeconds(time_.Now() - start_), line));
}

void World::Broken(const std::string& what) {
  if (broken()) return;
  report_.violation = what;
  Tell("BROKEN: {}", what);
}

Report World::Run() {
  for (std::size_t host = 0; host < hosts_.size(); ++host) Join(host);
  PlanCalls();
  PlanFaults();
  PlanStalls();
  Settle();
  EndOwners();
  ServeEverybody();
  DeleteEverything();
  LeaveInOrder();
  report_.seconds = ToSeconds(time_.Now() - start_);
  report_.digest = digest_.value();
  report_.owned = owning_.owned().size();
  for (const CallRecordPtr& record : calls_.all()) {
    ++report_.calls;
    report_.succeeded += record->succeeded() ? 1 : 0;
    report_.sums += record->succeeded() && record->kind == CallKind::kReduce ? 1 : 0;
    const bool ringed = record->kind == CallKind::kReduce && ringed_.contains(record->sum.target);
    report_.rings += record->succeeded() && ringed ? 1 : 0;
    report_.windows += record->succeeded() && record->windowed ? 1 : 0;
  }
  return report_;
}

// --- phases

// Ends all faults. What can be answered is answered then, and not by its deadline.
void World::Settle() {
  RunUntil(start_ + options_.span + milliseconds(300));
  EndFaults();
  // Everybody hears of the end of faults. The word of a Delete that was held up until now counts
  // for the whole time of a tombstone.
  RunUntil(time_.Now() + Tombstone() + milliseconds(100));
  if (!RunUntil(time_.Now() + kQuiet, [this] { return Unsettled().empty(); })) Broken(Unsettled());
  CheckKept();
  for (const CallRecordPtr& record : calls_.open()) record->call->Cancel();
  if (!RunUntil(time_.Now() + seconds(1), [this] { return calls_.open().empty(); })) {
    Broken(fmt::format("P9: {} is not answered, although it was cancelled",
                       ToString(*calls_.open().front())));
  }
  if (const std::string wrong = model_.CheckSums(); !wrong.empty()) Broken(wrong);
}

Duration World::Tombstone() const { return options_.owners > 0 ? kTombstoneOfOwned : kTombstone; }

// What was owned goes, at the latest when the time for owners of dead processes, and for those that
// a restarted shard cannot know, is over.
void World::EndOwners() {
  if (options_.owners == 0) return;
  owning_.EndAll();
  const bool gone =
      RunUntil(time_.Now() + 2 * kOrphanGrace + kQuiet, [this] { return OwnedByNobody().empty(); });
  if (!gone) Broken("P18: " + OwnedByNobody());
}

void World::EndFaults() {
  Tell("all faults end");
  network_.Heal();
  // What was sent to a slow host may still wait for it.
  disturbed_until_ = time_.Now() + (options_.slow_nodes > 0 ? kQuiet : seconds(0));
  for (const Host& host : hosts_) {
    if (host.member) host.member->Thaw();
  }
  for (const std::size_t host : std::exchange(returning_, {})) Join(host);
  for (const Host& host : hosts_) {
    if (host.member && host.member->disk() != nullptr) host.member->disk()->EndFaults();
  }
  for (std::size_t shard = 0; shard < directory_->shard_count(); ++shard) {
    directory_->Return(shard);
  }
}

// A crowd's bytes, and as many words about them, go through the cards of the shards. Some are still
// under way to who had them from another node before.
Duration World::CrowdTime() const {
  const std::uint64_t bytes = 2 * kInlineLimitBytes * options_.crowd * hosts_.size();
  return Duration(seconds(1)) * bytes / options_.link.bytes_per_second;
}

// Every node gets every object that exists.
void World::ServeEverybody() {
  const Time until = time_.Now() + kService + CrowdTime();
  const std::size_t first = calls_.all().size();
  for (const ObjectId& object : AllObjects()) {
    if (broken() || !Available(object)) continue;
    for (const Host& host : hosts_) {
      if (!host.member) continue;
      if (Fits(*host.member, object)) {
        calls_.Get(*host.member, object, until, CallStyle());
      } else if (FitsWindow(*host.member, object)) {
        calls_.GetInto(*host.member, object, until, CallStyle());
      }
    }
  }
  RunUntil(until + seconds(1), [this] { return calls_.open().empty(); });
  std::map<ObjectId, std::uint64_t> seen;
  for (const CallRecordPtr& record : calls_.all() | std::views::drop(first)) {
    // The time for the owners of dead processes may end just now.
    const bool deleted = record->error && record->error->code == ErrorCode::kDeleted;
    if (deleted && owning_.NobodyOwns(record->object)) continue;
    const bool failed = record->error && record->error->code == ErrorCode::kFailed;
    if (!record->succeeded() && !failed) {
      Broken(fmt::format("P9: {}, which is there: {}", ToString(*record),
                         record->error ? record->error->ToString() : "no answer"));
    }
    const std::uint64_t bytes =
        failed ? Digest().Add(record->error->message).value() : record->fingerprint;
    if (seen.try_emplace(record->object, bytes).first->second != bytes) {
      Broken(fmt::format("P3: at rest {} is not what others get", ToString(*record)));
    }
  }
}

void World::DeleteEverything() {
  Member* const member = RandomMember();
  if (broken() || member == nullptr) return;
  const Time until = time_.Now() + seconds(2) + CrowdTime();
  const std::size_t first = calls_.all().size();
  for (const ObjectId& object : AllObjects()) calls_.Delete(*member, object, until);
  RunUntil(until, [this] { return calls_.open().empty(); });
  for (const CallRecordPtr& record : calls_.all() | std::views::drop(first)) {
    if (!record->succeeded()) Broken(fmt::format("P9: {} failed", ToString(*record)));
  }
  if (!RunUntil(time_.Now() + Tombstone() + kForget, [this] { return Left().empty(); })) {
    Broken("P10: " + Left());
  }
  CheckCounters();
}

void World::LeaveInOrder() {
  leaves_ = true;
  for (Host& host : hosts_) {
    if (!host.member) continue;
    CountWork(*host.member);
    host.member->Stop();
    leaving_.push_back(std::move(host.member));
  }
  const bool left = RunUntil(time_.Now() + kLeave, [this] { return leaving_.empty(); });
  if (!left) {
    const Member& stays = *leaving_.front();
    Broken(fmt::format("P10: a task of {} did not end at its stop", stays.name()));
  }
  // After a violation tasks may hang. Their frames refer to the members, which are therefore never
  // destroyed.
  for (auto& member : leaving_) static_cast<void>(member.release());
}

// --- engine

void World::RunUntil(Time end) {
  RunReady();
  while (!broken() && time_.next() <= end) {
    time_.Step();
    RunReady();
    AfterStep();
  }
  if (!broken() && time_.Now() < end) {
    time_.At(end, [] {});
    time_.Step();
  }
}

bool World::RunUntil(Time end, const std::function<bool()>& so) {
  for (;;) {
    if (broken() || so()) return true;
    if (time_.Now() >= end) return false;
    RunUntil(std::min(end, time_.Now() + kLook));
  }
}

void World::RunReady() {
  bool any = true;
  while (any && !broken()) {
    const std::uint64_t order = random_.Next();
    any = directory_loop_.poll() > 0;
    if (any) CheckDirectory();
    std::size_t next = order % hosts_.size();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const Host& host = hosts_[next];
      if (++next == hosts_.size()) next = 0;
      if (host.member) any |= host.member->RunReady(order >> 32);
    }
    for (const auto& member : leaving_) any |= member->RunReady(order >> 32);
    CheckTurns();
  }
}

void World::Join(std::size_t host, bool foreign) {
  const auto index = static_cast<std::uint32_t>(host);
  auto segment = std::shared_ptr(store::CreateHeapSegment(options_.memory_of(index)));
  segments_.push_back(segment);
  hosts_[host].member = std::make_unique<Member>(
      Member::Surroundings{time_, internet_, *directory_, options_, foreign}, index,
      hosts_[host].id, ++processes_, std::move(segment));
  hosts_[host].turns_before = 0;
  hosts_[host].counted_since = time_.Now();
  hosts_[host].hoards_since = hosts_[host].idle_since = kNever;
  hosts_[host].held_up_since = kNever;
  Tell("{} starts", hosts_[host].member->name());
  if (const auto started = hosts_[host].member->Start(); !started) Broken(started.error().message);
}

// Of a process that ends.
void World::CountWork(Member& member) {
  const node::Assembly& assembly = member.assembly();
  report_.resumed += assembly.counters.fetches_resumed;
  if (assembly.spiller) report_.spilled += assembly.spiller->counts().written_objects;
}

void World::Crash(std::size_t host) {
  Member& member = *hosts_[host].member;
  const net::Death death = random_.Below(2) == 0 ? net::Death::kKilled : net::Death::kPowerOff;
  last_end_ = time_.Now();
  Tell("{} {}", member.name(), death == net::Death::kKilled ? "is killed" : "loses its power");
  CountWork(member);
  calls_.Abandon(member);
  owning_.Abandon(member);
  member.Die(death);
  Disturb(time_.Now() + kLook);  // its last words are still under way
  leaving_.push_back(std::move(hosts_[host].member));
}

void World::DestroyLeft() {
  std::erase_if(leaving_, [this](const std::unique_ptr<Member>& member) {
    if (!member->over()) return false;
    for (const CallRecordPtr& record : calls_.all()) {
      if (record->member == member.get()) record->member = nullptr;
    }
    Disturb(time_.Now());  // it ends its sessions in order
    member->assembly().directory->Stop();
    return true;
  });
}

void World::AfterStep() {
  ++report_.steps;
  if (!leaving_.empty()) DestroyLeft();
  CheckDeadlines();
  CheckMemory();
  CheckPlaces();
  if (options_.owners > 0) CheckOwned();
}

}  // namespace hoplite::node_world

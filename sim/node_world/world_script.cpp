// What clients do and what goes wrong, at random moments.
#include <algorithm>
#include <utility>

#include "sim/kit/noise.h"
#include "sim/node_world/world.h"

namespace hoplite::node_world {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

void World::Plan(std::uint32_t times, Moment what) {
  for (std::uint32_t i = 0; i < times; ++i) {
    time_.At(start_ + random_.Within(options_.span), [this, what] { (this->*what)(); });
  }
}

// A fault in the middle of a transfer tests more than one in silence, so it waits for a transfer.
void World::PlanFault(std::uint32_t times, Moment what) {
  for (std::uint32_t i = 0; i < times; ++i) {
    time_.At(start_ + random_.Within(options_.span),
             [this, what] { waiting_faults_.push_back(what); });
  }
}

void World::OnPayload() {
  if (waiting_faults_.empty() || time_.Now() > start_ + options_.span) return;
  const Moment what = waiting_faults_.front();
  waiting_faults_.pop_front();
  // It comes while the next few blocks pass.
  const auto block = Duration(seconds(1)) * 16_KiB / options_.link.bytes_per_second;
  time_.After(random_.Within(4 * block), [this, what] { (this->*what)(); });
}

void World::PlanCalls() {
  Plan(options_.calls, &World::MakeCall);
  Plan(options_.deletes, &World::DeleteSomething);
  Plan(options_.cancels, &World::CancelSomething);
  Plan(options_.sums, &World::MakeSum);
  Plan(options_.fails, &World::FailSomething);
  Plan(options_.rushes, &World::Rush);
  Plan(options_.windows, &World::ReadThroughWindow);
  Plan(options_.owners, &World::OwnSomething);
  Plan(options_.owners / 2, &World::EndAnOwner);
  Plan(options_.drains, &World::DrainOne);
  for (std::uint32_t i = 0; i < options_.crowd; ++i) {
    time_.At(start_ + random_.Within(options_.span), [this, i] { PutOneOfTheCrowd(i); });
  }
  if (options_.sums == 0) return;
  for (std::uint32_t i = 0; i < options_.sources; ++i) {
    if (options_.rings && random_.Below(8) > 0) {
      const std::uint32_t host = i % options_.nodes;
      time_.At(start_ + random_.Within(milliseconds(20)),
               [this, i, host] { PutSource(hosts_[host].member.get(), i); });
      continue;
    }
    time_.At(start_ + random_.Within(options_.span),
             [this, i] { PutSource(RandomMemberWithRoom(), i); });
  }
}

void World::PlanFaults() {
  PlanFault(options_.broken_streams, &World::BreakAStream);
  PlanFault(options_.broken_sessions, &World::BreakASession);
  PlanFault(options_.partitions, &World::PartTwo);
  PlanFault(options_.one_way_partitions, &World::PartOneWay);
  PlanFault(options_.clogs, &World::Clog);
  PlanFault(options_.freezes, &World::FreezeOne);
  PlanFault(options_.slow_nodes, &World::SlowOne);
  PlanFault(options_.crashes, &World::CrashOne);
  PlanFault(options_.returns, &World::CrashAndReturn);
  PlanFault(options_.restarts, &World::RestartShard);
}

void World::PlanStalls() {
  const sim::Stalls stalls(options_.stall_chance, options_.stall, options_.seed);
  for (std::uint32_t host = 0; host < hosts_.size() && options_.stall_chance > 0; ++host) {
    Time when = stalls.NextBegin(host, Time{});
    for (; when < Time{} + options_.span; when = stalls.NextBegin(host, when)) {
      time_.At(start_ + (when - Time{}), [this, host, lasts = stalls.Awake(host, when) - when] {
        Member* const member = hosts_[host].member.get();
        if (member != nullptr) member->Freeze(time_.Now() + lasts);
      });
    }
  }
}

Member* World::RandomMember() {
  const std::uint64_t first = random_.Next();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[(first + i) % hosts_.size()];
    if (host.member) return host.member.get();
  }
  return nullptr;
}

Member* World::RandomMemberWithRoom() {
  Member* const member = RandomMember();
  return member != nullptr && options_.is_small(member->index()) ? nullptr : member;
}

ObjectId World::Object(std::uint32_t i) const {
  return ObjectId::FromName(fmt::format("object {}", i));
}
ObjectId World::Source(std::uint32_t i) const {
  return ObjectId::FromName(fmt::format("source {}", i));
}

ObjectId World::OneOfTheCrowd(std::uint32_t i) const {
  return ObjectId::FromName(fmt::format("one of the crowd {}", i));
}

std::vector<ObjectId> World::AllObjects() const {
  std::vector<ObjectId> all;
  for (std::uint32_t i = 0; i < options_.objects; ++i) all.push_back(Object(i));
  for (std::uint32_t i = 0; i < options_.sources; ++i) all.push_back(Source(i));
  all.insert(all.end(), targets_.begin(), targets_.end());
  for (std::uint32_t i = 0; i < options_.crowd; ++i) all.push_back(OneOfTheCrowd(i));
  return all;
}

// --- calls

void World::MakeCall() {
  Member* const member = RandomMemberWithRoom();
  if (member == nullptr) return;
  const bool patient = random_.Below(3) == 0;
  const Time deadline =
      time_.Now() + (patient ? seconds(60) : milliseconds(30) + random_.Within(seconds(3)));
  CallStyle style;
  if (random_.Below(2) == 0) style.fill_time = random_.Within(milliseconds(100));
  style.aborts = random_.Below(12) == 0;
  if (random_.Below(2) == 0) style.hold = random_.Within(milliseconds(300));
  const bool of_sums = random_.Below(2) == 0;
  const ObjectId object = of_sums
                              ? Source(static_cast<std::uint32_t>(random_.Below(options_.sources)))
                              : Object(static_cast<std::uint32_t>(random_.Below(options_.objects)));
  const std::uint64_t kind = random_.Below(20);
  if (kind < 8) {
    const bool small = random_.Below(5) == 0;
    const std::uint64_t words =
        1 + random_.Below((small ? kInlineLimitBytes : options_.most_blocks * 16_KiB) / 8);
    const std::uint64_t size = of_sums ? sum_bytes_ : 8 * words;
    Tell("{} puts {} of {} bytes", member->name(), object.ToShortString(), size);
    calls_.Put(*member, object, size, deadline, style);
  } else if (kind < 11) {
    Tell("{} opens {}", member->name(), object.ToShortString());
    calls_.Open(*member, object, deadline);
  } else {
    const ObjectId wanted = !targets_.empty() && random_.Below(3) == 0
                                ? targets_[random_.Below(targets_.size())]
                                : object;
    Tell("{} gets {}", member->name(), wanted.ToShortString());
    calls_.Get(*member, wanted, deadline, style);
  }
}

void World::PutSource(Member* member, std::uint32_t i) {
  if (member == nullptr || options_.is_small(member->index())) return;
  Tell("{} puts {} of {} bytes", member->name(), Source(i).ToShortString(), sum_bytes_);
  CallStyle style;
  if (random_.Below(2) == 0) style.fill_time = random_.Within(milliseconds(100));
  calls_.Put(*member, Source(i), sum_bytes_, time_.Now() + seconds(60), style);
}

void World::PutOneOfTheCrowd(std::uint32_t i) {
  Member* const member = RandomMemberWithRoom();
  if (member == nullptr) return;
  calls_.Put(*member, OneOfTheCrowd(i), kInlineLimitBytes, time_.Now() + seconds(60), CallStyle());
}

// One puts an object of its own, and all others want it.
void World::Rush() {
  Member* const producer = RandomMemberWithRoom();
  if (producer == nullptr) return;
  const ObjectId object = Object(static_cast<std::uint32_t>(random_.Below(options_.objects)));
  const std::uint64_t size = 8 * (1 + random_.Below(options_.most_blocks * 16_KiB / 8));
  const Time deadline = time_.Now() + seconds(60);
  Tell("{} puts {} of {} bytes, and all want it", producer->name(), object.ToShortString(), size);
  calls_.Put(*producer, object, size, deadline, CallStyle());
  for (const Host& host : hosts_) {
    if (host.member == nullptr || options_.is_small(host.member->index())) continue;
    CallStyle style;
    if (random_.Below(4) == 0) style.hold = random_.Within(milliseconds(300));
    calls_.Get(*host.member, object, deadline, style);
  }
}

void World::FailSomething() {
  Member* const member = RandomMemberWithRoom();
  if (member == nullptr) return;
  const bool of_sums = options_.sums > 0 && random_.Below(2) == 0;
  const ObjectId object = of_sums
                              ? Source(static_cast<std::uint32_t>(random_.Below(options_.sources)))
                              : Object(static_cast<std::uint32_t>(random_.Below(options_.objects)));
  Tell("{} says that {} failed", member->name(), object.ToShortString());
  calls_.Fail(*member, object, time_.Now() + seconds(60));
}

// Also makes calls that want the sum.
void World::MakeSum() {
  Member* const member = RandomMemberWithRoom();
  if (member == nullptr) return;
  const ObjectId target = ObjectId::FromName(fmt::format("sum {}", targets_.size()));
  const bool patient = random_.Below(2) == 0;
  BeginSum(*member, time_.Now() + (patient ? seconds(60) : random_.Within(seconds(3))));
  for (std::uint64_t readers = random_.Below(4); readers > 0; --readers) {
    time_.After(random_.Within(milliseconds(100)), [this, target] {
      Member* const reader = RandomMemberWithRoom();
      if (reader == nullptr) return;
      Tell("{} gets {}", reader->name(), target.ToShortString());
      calls_.Get(*reader, target, time_.Now() + seconds(60), CallStyle());
    });
  }
}

void World::BeginSum(Member& member, Time deadline) {
  ReduceOptions sum;
  sum.target = ObjectId::FromName(fmt::format("sum {}", targets_.size()));
  targets_.push_back(sum.target);
  const auto count = static_cast<std::uint32_t>(1 + random_.Below(options_.sources));
  const auto first = static_cast<std::uint32_t>(random_.Below(options_.sources));
  for (std::uint32_t i = 0; i < count; ++i) {
    sum.sources.push_back(Source((first + i) % options_.sources));
  }
  // By turns: sums, means, and sums of the first half.
  const bool mean = targets_.size() % 3 == 0;
  sum.op = mean ? Op::kMean : Op::kSum;
  sum.dtype = mean ? DType::kFloat64 : DType::kUint64;
  if (targets_.size() % 3 == 1) sum.folded_bytes = sum_bytes_ / 2 / 8 * 8;
  sum.fixed_order = random_.Below(6) == 0;
  if (!sum.fixed_order && random_.Below(2) == 0) sum.num_objects = 1 + random_.Below(count);
  if (!sum.fixed_order) sum.degree = static_cast<std::uint32_t>(random_.Below(4));
  sum.root_here = random_.Below(4) == 0;
  if (options_.rings && random_.Below(4) > 0) {
    sum.everyone_reads = true;
    sum.fixed_order = sum.root_here = false;
    sum.degree = 0;
  }
  Tell("{} makes the {} of {} of {} sources from {} on into {}{}", member.name(), Name(sum.op),
       sum.num_objects.value_or(count), count, sum.sources.front().ToShortString(),
       sum.target.ToShortString(), sum.everyone_reads ? ", for everybody" : "");
  calls_.Reduce(member, std::move(sum), deadline);
}

// Reads at a pace of its own. One such reader may stop for good; if the window is taken away from
// it, it starts over.
void World::ReadThroughWindow() {
  Member* const member = hosts_[options_.nodes - 1].member.get();
  if (member == nullptr) return;
  const bool patient = random_.Below(2) == 0;
  const Time deadline =
      time_.Now() + (patient ? seconds(60) : milliseconds(30) + random_.Within(seconds(3)));
  CallStyle style;
  style.pace = random_.Within(milliseconds(random_.Below(2) == 0 ? 0 : 40));
  style.stops_after = static_cast<int>(random_.Below(6));
  style.stops = !reader_stopped_ && random_.Below(3) == 0;
  reader_stopped_ |= style.stops;
  const bool of_sums = !targets_.empty() && random_.Below(2) == 0;
  const ObjectId object = of_sums
                              ? targets_[random_.Below(targets_.size())]
                              : Object(static_cast<std::uint32_t>(random_.Below(options_.objects)));
  Tell("{} gets {} into memory", member->name(), object.ToShortString());
  calls_.GetInto(*member, object, deadline, style);
}

void World::DeleteSomething() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  const std::vector<ObjectId> all = AllObjects();
  const ObjectId object = all[random_.Below(all.size())];
  Tell("{} deletes {}", member->name(), object.ToShortString());
  owning_.Excuse(object);
  calls_.Delete(*member, object, time_.Now() + seconds(60));
}

void World::OwnSomething() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  const ObjectId object = Object(static_cast<std::uint32_t>(random_.Below(options_.objects)));
  Tell("a client of {} owns {}", member->name(), object.ToShortString());
  owning_.Ask(*member, object, time_.Now() + seconds(60));
}

void World::EndAnOwner() {
  if (owning_.EndOne(random_.Next())) Tell("an owner ends");
}

void World::CancelSomething() {
  if (calls_.open().empty()) return;
  const CallList& open = calls_.open();
  const CallRecordPtr record =
      *std::next(open.begin(), static_cast<std::ptrdiff_t>(random_.Below(open.size())));
  Tell("{} is cancelled", ToString(*record));
  record->call->Cancel();
}

// --- faults

Duration World::RandomFaultTime() {
  return milliseconds(1) + random_.Within(random_.Below(2) == 0 ? milliseconds(300) : seconds(3));
}

// Notes until when a fault may have effects on sessions.
void World::Disturb(Time until) { disturbed_until_ = std::max(disturbed_until_, until); }

void World::BreakAStream() {
  if (net::BreakStream(*internet_, random_.Next())) Tell("a stream breaks");
}

void World::BreakASession() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  Tell("a session of {} ends", member->name());
  directory_->BreakSession(member->access(), random_.Next());
}

namespace {

// Hosts of the shards come first.
net::HostId RandomHost(sim::Random& random, const Options& options) {
  return static_cast<net::HostId>(random.Below(options.shards + options.nodes));
}

}  // namespace

void World::PartTwo() {
  const net::HostId one = RandomHost(random_, options_);
  const net::HostId other = RandomHost(random_, options_);
  const Time until = time_.Now() + RandomFaultTime();
  Tell("hosts {} and {} don't hear each other until {:.3f}", one, other, ToSeconds(until - start_));
  network_.Block(one, other, until);
  network_.Block(other, one, until);
  Disturb(until);
}

void World::PartOneWay() {
  const net::HostId one = RandomHost(random_, options_);
  const net::HostId other = RandomHost(random_, options_);
  const Time until = time_.Now() + RandomFaultTime();
  Tell("host {} is not heard by {} until {:.3f}", one, other, ToSeconds(until - start_));
  network_.Block(one, other, until);
  Disturb(until);
}

void World::Clog() {
  const net::HostId clogged = RandomHost(random_, options_);
  const Time until = time_.Now() + random_.Within(milliseconds(400));
  Tell("nothing reaches host {} until {:.3f}", clogged, ToSeconds(until - start_));
  for (net::HostId host = 0; host < options_.shards + options_.nodes; ++host) {
    network_.Block(host, clogged, until);
  }
  Disturb(until);
}

void World::FreezeOne() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  const Time until = time_.Now() + RandomFaultTime();
  Tell("{} is frozen until {:.3f}", member->name(), ToSeconds(until - start_));
  member->Freeze(until);
  Disturb(until);
}

void World::SlowOne() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  Tell("{} gets slow", member->name());
  network_.Slow(member->host(), 10);
  Disturb(kNever);
}

void World::CrashOne() {
  Member* const member = RandomMember();
  if (member != nullptr) Crash(member->index());
}

void World::CrashAndReturn() {
  Member* const member = RandomMember();
  if (member == nullptr) return;
  const std::uint32_t host = member->index();
  Crash(host);
  returning_.push_back(host);
  time_.After(RandomFaultTime(), [this, host] {
    if (std::erase(returning_, host) > 0) Join(host);
  });
}

void World::RestartShard() {
  const std::size_t shard = random_.Below(directory_->shard_count());
  Tell("shard {} is killed", shard);
  directory_->Kill(shard);
  const Duration away = random_.Within(milliseconds(800));
  Disturb(time_.Now() + away);
  time_.After(away, [this, shard] { directory_->Return(shard); });
  if (options_.newcomers > 0) BringNewcomers(shard, time_.Now() + away);
}

// Often the nodes that hold objects hear of the shard's return later.
void World::BringNewcomers(std::size_t shard, Time back) {
  const Duration most = options_.state_files ? seconds(2) : milliseconds(300);
  const Duration late = random_.Below(4) > 0 ? random_.Within(most) : milliseconds(0);
  for (const Host& host : hosts_) network_.Block(host.id, directory_->host(shard), back + late);
  Disturb(back + late + seconds(1));
  for (std::uint32_t i = 0; i < options_.newcomers; ++i) {
    time_.At(back + random_.Within(milliseconds(200)), [this] { BringNewcomer(); });
  }
}

void World::BringNewcomer() {
  const bool foreign = options_.shards == 1 && random_.Below(2) == 0;
  hosts_.push_back({.id = network_.AddHost(), .member = nullptr});
  if (foreign) Tell("the next one knows the shard by the id of another cluster");
  Join(hosts_.size() - 1, foreign);
}

}  // namespace hoplite::node_world

#include "node/memory/spiller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/spilled_read.h"

namespace hoplite::node {
namespace {

using store::CopyPtr;
using Spill = store::ObjectStore::Spill;

// A disk that has done nothing for so long is said not to answer.
constexpr Duration kDiskSilence = std::chrono::seconds(1);

// Copies that move within so long are told of together.
constexpr Duration kTellsAfter = std::chrono::milliseconds(100);

// On a thread of the disk: what was written is what was put, as far as memory says.
Result<void> Compared(const store::Copy& copy, const Result<void>& written) {
  if (!written || store::Matches(copy, 0, copy.bytes())) return written;
  return std::unexpected(
      Error(ErrorCode::kUnavailable, "write: the bytes in memory are not those that were put"));
}

}  // namespace

// Shared by the disk's thread and the loop: whoever has it last drops what is left in it.
struct Spiller::Job {
  CopyPtr copy;
  store::Copy::Place place;
  Result<void> result;
};

Spiller::Spiller(store::ObjectStore& store, directory::DirectoryClient& directory,
                 asio::io_context& main, std::shared_ptr<store::Disk> disk, Settings settings,
                 Hooks hooks)
    : store_(store),
      directory_(directory),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      main_(main),
      gate_(std::make_shared<LoopGate>(main)),
      space_(std::make_shared<store::DiskSpace>(
          std::move(disk), settings_.limit_bytes,
          [this, gate = gate_] { gate->Post([this] { OnRoom(); }); })),
      pieces_(
          std::make_shared<DiskPieces>([this, gate = gate_](const CopyPtr& copy, const Error& why) {
            gate->Post([this, copy, why] { OnUnreadable(copy, why); });
          })) {}

Spiller::~Spiller() {
  gate_->Close();
  space_->ForgetOnRoom();
}

// What the shard keeps, too, the node must be able to repeat (R16).
Spill Spiller::MaySpill(const store::Copy& copy) const {
  const std::uint64_t size = copy.layout().size_bytes;
  if (writing_.contains(copy.number())) return Spill::kUnderWay;
  if (state_.left_alone(Now())) return Spill::kNever;
  const std::size_t shard = directory::ShardOf(copy.object(), directory_.shard_count());
  const bool large = size >= settings_.from_bytes && size > directory_.inline_limit(shard);
  return large ? Spill::kMay : Spill::kNever;
}

// A shard that is away permits nothing.
store::ObjectStore::Outflow Spiller::Outflow(std::uint64_t bytes) const {
  const auto evictable = [this](const store::Copy& copy) {
    return directory_.connected(directory::ShardOf(copy.object(), directory_.shard_count()));
  };
  return store_.VictimsWithDisk(bytes, evictable,
                                [this](const store::Copy& copy) { return MaySpill(copy); });
}

void Spiller::MakeRoom(std::uint64_t bytes, const store::ObjectStore::Outflow& outflow) {
  for (const ObjectId& object : outflow.spilled) Leave(object);
  state_.OnWanted(bytes, store_.usage().capacity_bytes, Now());
  Advance();
}

void Spiller::Advance() {
  const Time now = Now();
  while (state_.MayWrite(now)) {
    const auto next = NextToWrite(now);
    if (!next || !Begin(*next, now)) return;
  }
}

std::optional<ObjectId> Spiller::NextToWrite(Time now) const {
  for (const auto& bytes : {state_.Wanted(now), state_.Ahead(now)}) {
    if (!bytes || store_.usage().largest_hole_bytes >= *bytes) continue;
    const std::vector<ObjectId> next = Outflow(*bytes).to_spill;
    if (!next.empty()) return next.front();
  }
  return std::nullopt;
}

bool Spiller::Begin(const ObjectId& object, Time now) {
  const CopyPtr copy = store_.Find(object);
  const std::uint64_t size = copy->layout().size_bytes;
  auto place = space_->Reserve(size);
  if (!place) {
    if (!ForgetOne()) state_.OnFull(now);
    return false;
  }
  writing_.insert(copy->number());
  state_.OnBegun();
  begun_at_ = now;
  const auto job = std::make_shared<Job>(Job{copy, std::move(place), {}});
  store::Disk& disk = job->place->disk();
  disk.Write(job->place->offset(), copy->bytes(),
             [this, job, gate = gate_](const Result<void>& written) {
               job->result = Compared(*job->copy, written);
               gate->Post([this, job] { OnWritten(*job); });
             });
  return true;
}

// The oldest that lies on the disk only because it did before gives its room there back: once that is
// free, writes go on. False: there is none.
bool Spiller::ForgetOne() {
  for (const ObjectId& object : store_.InBoth()) {
    const CopyPtr copy = store_.Find(object);
    if (copy->spilled().use_count() > 1) continue;  // it is served from there
    copy->set_spilled(nullptr);
    return true;
  }
  return false;
}

void Spiller::OnWritten(Job& job) {
  if (job.result) {
    OnDone(std::exchange(job.copy, nullptr), std::exchange(job.place, nullptr));
  } else {
    OnFailed(std::exchange(job.copy, nullptr), job.result.error());
    job.place.reset();
  }
  // Nothing of it is pinned any more.
  Advance();
  hooks_.on_room();
}

void Spiller::OnFailed(const CopyPtr& copy, const Error& why) {
  const bool full = why.code == ErrorCode::kResourceExhausted;
  writing_.erase(copy->number());
  last_failure_ = why.message;
  ++counts_.failed_writes;
  state_.OnFailed(
      full ? planner::SpillState::Failure::kFull : planner::SpillState::Failure::kBroken, Now());
  log::Warn("{}: object {} stays in memory: {}: {}", settings_.node, copy->object().ToHex(),
            space_->folder(), why.message);
}

void Spiller::OnDone(const CopyPtr& copy, store::Copy::Place place) {
  writing_.erase(copy->number());
  const bool stays =
      store_.Find(copy->object()) == copy && copy->state() == store::CopyState::kFinal;
  if (!stays) return state_.OnVain();
  state_.OnWritten(Now());
  counts_.written_bytes += copy->layout().size_bytes;
  ++counts_.written_objects;
  copy->set_spilled(std::make_shared<store::Copy>(*copy, std::move(place)));
}

void Spiller::Leave(const ObjectId& object) {
  const CopyPtr copy = store_.Find(object);
  const CopyPtr spilled = copy->spilled();
  copy->set_spilled(nullptr);
  store_.Replace(spilled);
  NoteMoved(object);
}

void Spiller::NoteMoved(const ObjectId& object) {
  moved_.insert(object);
  if (!tells_) tells_.emplace(main_, Now() + kTellsAfter, [this] { TellMoved(); });
}

void Spiller::TellMoved() {
  tells_.reset();
  for (const ObjectId& object : std::exchange(moved_, {})) {
    const CopyPtr copy = store_.Find(object);
    if (!copy || copy->state() != store::CopyState::kFinal) continue;
    directory_.Send(protocol::CopyMoved{object, copy->version(), copy->on_disk()});
  }
}

void Spiller::OnRoom() {
  state_.OnRoom();
  Advance();
  hooks_.on_room();
}

void Spiller::OnUnreadable(const CopyPtr& copy, const Error& why) {
  const CopyPtr listed = store_.Find(copy->object());
  if (listed && listed->spilled() == copy) return listed->set_spilled(nullptr);
  if (listed != copy) return;
  ++counts_.lost_copies;
  log::ErrorLine("{}: object {} is lost here: {}: {}", settings_.node, copy->object().ToHex(),
                 space_->folder(), why.message);
  hooks_.on_lost(copy);
}

Time Spiller::moved_at() const {
  if (state_.under_way() == 0) return state_.written_at();
  return std::max(space_->moved_at(), state_.written_at());
}

std::string Spiller::InWords() const {
  const Time now = Now();
  std::string words =
      fmt::format("{} of {} bytes of {} are in use", used_bytes(), limit_bytes(), space_->folder());
  const Time since = begun_at_ ? std::max(moved_at(), *begun_at_) : now;
  if (state_.full(now)) {
    words += ", and it is full";
    if (!last_failure_.empty()) words += fmt::format(" ({})", last_failure_);
  } else if (state_.broken(now)) {
    words += fmt::format(", and the last write failed: {}", last_failure_);
  } else if (state_.under_way() > 0 && now - since >= kDiskSilence) {
    words += fmt::format(", and its disk has not answered for {:.0f} s", ToSeconds(now - since));
  }
  return words;
}

}  // namespace hoplite::node

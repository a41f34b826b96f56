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
using store::Disk;

// A disk that has done nothing for so long is said not to answer.
constexpr Duration kDiskSilence = std::chrono::seconds(1);

// Copies that move within so long are told of together.
constexpr Duration kTellsAfter = std::chrono::milliseconds(100);

// A look at the copies that takes longer is long; the next one is so many times later.
constexpr Duration kLongLook = std::chrono::milliseconds(1);
constexpr int kLooksAgain = 4;

std::uint64_t SizeOf(const CopyPtr& copy) { return copy->layout().size_bytes; }

// On a thread of the disk: what was written is what was put, as far as memory says.
Result<void> Compared(const store::Copy& copy, const Result<void>& written) {
  if (!written || store::Matches(copy, 0, copy.bytes())) return written;
  return std::unexpected(
      Error(ErrorCode::kUnavailable, "write: the bytes in memory are not those that were put"));
}

}  // namespace

// Objects of one write. Shared by the disk's thread and the loop: whoever has it last drops what is
// left in it.
struct Spiller::Job {
  struct One {
    CopyPtr copy;
    store::Copy::Place place;
    Result<void> result;
  };
  std::vector<One> all;
};

Spiller::Spiller(store::ObjectStore& store, directory::DirectoryClient& directory,
                 asio::io_context& main, std::shared_ptr<store::Disk> disk,
                 std::unique_ptr<planner::SpillState> state, Settings settings, Hooks hooks)
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
          })),
      state_(std::move(state)) {}

Spiller::~Spiller() {
  gate_->Close();
  space_->ForgetOnRoom();
}

// A shard that is away permits nothing.
store::ObjectStore::Outflow Spiller::Look(std::uint64_t bytes) const {
  const auto evictable = [this](const store::Copy& copy) {
    return directory_.connected(directory::ShardOf(copy.object(), directory_.shard_count()));
  };
  return store_.VictimsWithDisk(bytes, evictable, !state_->left_alone(Now()));
}

store::ObjectStore::Outflow Spiller::Outflow(std::uint64_t bytes) {
  const Time now = Now();
  if (now < looks_again_ && state_->under_way() > 0) return {};
  auto outflow = Look(bytes);
  const Duration took = Now() - now;
  if (took > kLongLook) looks_again_ = now + (1 + kLooksAgain) * took;
  return outflow;
}

bool Spiller::idle(std::uint64_t bytes) const {
  if (state_->under_way() > 0 || store_.usage().largest_hole_bytes >= bytes) return false;
  return !Look(bytes).to_spill.empty();
}

void Spiller::MakeRoom(std::uint64_t bytes, const store::ObjectStore::Outflow& outflow) {
  for (const ObjectId& object : outflow.spilled) Leave(object);
  state_->OnWanted(bytes, store_.usage().capacity_bytes, Now());
  Advance();
}

void Spiller::Advance() {
  const Time now = Now();
  while (state_->MayWrite(now)) {
    Copies next = NextToWrite(now);
    if (next.empty() || !Begin(std::move(next), now)) return;
  }
}

// What leaves a hole for what was wanted; then the oldest, until enough can leave at once.
Spiller::Copies Spiller::NextToWrite(Time now) {
  const auto wanted = state_->Wanted(now);
  if (!wanted) return {};
  const std::uint64_t hole = store_.usage().largest_hole_bytes;
  const std::uint64_t ahead = state_->Ahead(now);
  Copies next;
  if (hole < *wanted) {
    if (chosen_.empty() || chosen_for_ != *wanted) {
      chosen_.clear();
      chosen_for_ = *wanted;
      for (const ObjectId& object : Outflow(*wanted).to_spill) chosen_.push_back(object);
    }
    if (CopyPtr copy = NextChosen()) next.push_back(std::move(copy));
  } else {
    chosen_.clear();
  }
  if (next.empty() && hole + store_.leaving_bytes() < ahead) {
    store_.VisitToSpill([&next](const CopyPtr& copy) {
      next.push_back(copy);
      return false;
    });
  }
  if (!next.empty()) Gather(next, std::min(ahead, Disk::kMostGathered));
  return next;
}

// Null: there is none left that could be written now.
CopyPtr Spiller::NextChosen() {
  while (!chosen_.empty()) {
    CopyPtr copy = store_.FindToSpill(chosen_.front());
    chosen_.pop_front();
    if (copy) return copy;
  }
  return nullptr;
}

// A small one takes others along: those that were chosen with it, then the oldest.
void Spiller::Gather(Copies& copies, std::uint64_t most) {
  const auto small = [this](const CopyPtr& copy) { return SizeOf(copy) < settings_.gather_below; };
  if (!small(copies.front())) return;
  std::uint64_t bytes = Disk::WholePages(SizeOf(copies.front()));
  const auto takes = [&](const CopyPtr& copy) {
    const std::uint64_t more = Disk::WholePages(SizeOf(copy));
    if (!small(copy) || bytes + more > most) return false;
    copies.push_back(copy);
    bytes += more;
    return true;
  };
  while (!chosen_.empty()) {
    const CopyPtr copy = store_.FindToSpill(chosen_.front());
    if (copy && !takes(copy)) return;
    chosen_.pop_front();
  }
  store_.VisitToSpill([&](const CopyPtr& copy) {
    takes(copy);
    return bytes + Disk::kGranule <= most;
  });
}

// As many as there is room for, one behind the other.
std::vector<store::DiskSpace::PlacePtr> Spiller::Reserve(Copies& copies) {
  for (; !copies.empty(); copies.resize(copies.size() / 2)) {
    std::vector<std::uint64_t> sizes;
    for (const CopyPtr& copy : copies) sizes.push_back(SizeOf(copy));
    auto places = space_->Reserve(sizes);
    if (!places.empty()) return places;
  }
  return {};
}

bool Spiller::Begin(Copies copies, Time now) {
  const std::uint64_t first_bytes = SizeOf(copies.front());
  std::vector<store::DiskSpace::PlacePtr> places = Reserve(copies);
  if (places.empty()) {
    if (!Forget(first_bytes)) state_->OnFull(now);
    return false;
  }
  state_->OnBegun();
  begun_at_ = now;
  const auto job = std::make_shared<Job>();
  Disk::Pieces pieces;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    store_.BeginSpill(copies[i]);
    pieces.push_back(copies[i]->bytes());
    job->all.push_back({std::move(copies[i]), std::move(places[i]), {}});
  }
  const store::DiskSpace::Place& first = *job->all.front().place;
  first.disk().Write(first.offset(), std::move(pieces),
                     [this, job, gate = gate_](const Result<void>& written) {
                       for (Job::One& one : job->all) one.result = Compared(*one.copy, written);
                       gate->Post([this, job] { OnWritten(*job); });
                     });
  return true;
}

// The oldest that lie on the disk only because they did before give so much room there back: once that
// is free, writes go on. False: there is none.
bool Spiller::Forget(std::uint64_t bytes) {
  Copies oldest;
  std::uint64_t found = 0;
  store_.VisitInBoth([&](const CopyPtr& copy) {
    oldest.push_back(copy);
    found += Disk::WholePages(SizeOf(copy));
    return found < bytes;
  });
  for (const CopyPtr& copy : oldest) store_.SetSpilled(copy, nullptr);
  return !oldest.empty();
}

void Spiller::OnWritten(Job& job) {
  bool any_stays = false;
  std::size_t failed = 0;
  for (const Job::One& one : job.all) failed += one.result ? 0 : 1;
  for (Job::One& one : job.all) {
    if (one.result) {
      any_stays |= OnDone(one.copy, std::move(one.place));
    } else {
      store_.SetSpilled(one.copy, nullptr);
      if (failed > 0) OnFailed(*one.copy, std::exchange(failed, 0), one.result.error());
    }
  }
  const bool all_written =
      std::ranges::all_of(job.all, [](const auto& one) { return one.result.has_value(); });
  if (all_written) any_stays ? state_->OnWritten(Now()) : state_->OnVain();
  // Nothing of it is pinned any more, and what failed has no place.
  job.all.clear();
  Advance();
  hooks_.on_room();
}

// Of one write.
void Spiller::OnFailed(const store::Copy& first, std::size_t objects, const Error& why) {
  const bool full = why.code == ErrorCode::kResourceExhausted;
  last_failure_ = why.message;
  ++counts_.failed_writes;
  state_->OnFailed(
      full ? planner::SpillState::Failure::kFull : planner::SpillState::Failure::kBroken, objects,
      Now());
  const std::string others = objects == 1 ? "" : fmt::format(", with {} others,", objects - 1);
  log::Warn("{}: object {}{} stays in memory: {}: {}", settings_.node, first.object().ToHex(),
            others, space_->folder(), why.message);
}

// False: it is not there any more.
bool Spiller::OnDone(const CopyPtr& copy, store::Copy::Place place) {
  const bool stays =
      store_.Find(copy->object()) == copy && copy->state() == store::CopyState::kFinal;
  if (!stays) {
    store_.SetSpilled(copy, nullptr);
    return false;
  }
  counts_.written_bytes += SizeOf(copy);
  ++counts_.written_objects;
  store_.SetSpilled(copy, std::make_shared<store::Copy>(*copy, std::move(place)));
  return true;
}

void Spiller::Leave(const ObjectId& object) {
  const CopyPtr copy = store_.Find(object);
  const CopyPtr spilled = copy->spilled();
  store_.Replace(spilled);
  copy->set_spilled(nullptr);
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
  state_->OnRoom();
  Advance();
  hooks_.on_room();
}

void Spiller::OnUnreadable(const CopyPtr& copy, const Error& why) {
  const CopyPtr listed = store_.Find(copy->object());
  if (listed && listed->spilled() == copy) return store_.SetSpilled(listed, nullptr);
  if (listed != copy) return;
  ++counts_.lost_copies;
  log::ErrorLine("{}: object {} is lost here: {}: {}", settings_.node, copy->object().ToHex(),
                 space_->folder(), why.message);
  hooks_.on_lost(copy);
}

Time Spiller::moved_at() const {
  if (state_->under_way() == 0) return state_->written_at();
  return std::max(space_->moved_at(), state_->written_at());
}

std::string Spiller::InWords() const {
  const Time now = Now();
  std::string words =
      fmt::format("{} of {} bytes of {} are in use", used_bytes(), limit_bytes(), space_->folder());
  const Time since = begun_at_ ? std::max(moved_at(), *begun_at_) : now;
  if (state_->full(now)) {
    words += ", and it is full";
    if (!last_failure_.empty()) words += fmt::format(" ({})", last_failure_);
  } else if (state_->broken(now)) {
    words += fmt::format(", and the last write failed: {}", last_failure_);
  } else if (state_->under_way() > 0 && now - since >= kDiskSilence) {
    words += fmt::format(", and its disk has not answered for {:.0f} s", ToSeconds(now - since));
  }
  return words;
}

}  // namespace hoplite::node

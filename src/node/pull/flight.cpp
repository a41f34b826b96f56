#include "node/pull/flight.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "node/pull/subscription.h"
#include "node/put/publication.h"

namespace hoplite::node {
namespace {

using planner::Failure;
using planner::Outcome;

constexpr Duration kProgressEvery = std::chrono::milliseconds(30);
// From this size on the stripes of one grant travel on two connections, served by two loops.
constexpr std::uint64_t kTwoLanesFrom = 32_MiB;

// Disjoint sets of stripes, one for each connection. One for a window: it has room only near its
// lowest missing byte, which the other connection might have to bring.
std::vector<StripeMask> SplitIntoLanes(const store::Copy& copy, StripeMask stripes) {
  const Layout& layout = copy.layout();
  const bool one = layout.size_bytes < kTwoLanesFrom || copy.windowed();
  if (one || std::popcount(stripes) < 2) return {stripes};
  StripeMask even = 0;
  int nth = 0;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if ((stripes >> s & 1) != 0 && nth++ % 2 == 0) even |= StripeMask{1} << s;
  }
  return {even, stripes & ~even};
}

}  // namespace

Flight::Flight(Context& context, DataPlane& data_plane, EntryPtr entry)
    : context_(context),
      data_plane_(data_plane),
      entry_(std::move(entry)),
      changed_(context.runtime.main()) {}

void Flight::Start() {
  if (std::exchange(started_, true)) return;
  context_.runtime.Spawn(context_.runtime.main(), "fetch", Fly());
}

net::Task<void> Flight::Fly() {
  const auto self = shared_from_this();
  while (!over_ && wanted()) {
    recalled_ = false;
    if (!co_await LocateObject()) break;
    if (inline_) break;
    if (!co_await ReserveMemory()) {
      if (recalled_ && !error_) continue;
      break;
    }
    co_await ReceiveAll();
    co_await StopLanes();
    place_.reset();
    if (result_ || !recalled_) break;
    DropCopy(store::VoidReason::kRecalled);
  }
  if (inline_ && !over_) {
    auto copy = co_await TakeInline();
    if (copy || !context_.memory.fits_ever(inline_->bytes->size())) result_ = std::move(copy);
  }
  if (!result_) DropCopy(deleted_ ? store::VoidReason::kDeleted : store::VoidReason::kAborted);
  if (error_ && !result_) result_ = std::unexpected(*error_);
  Finish(std::move(result_));
}

// False when the flight is over or nobody wants it any more.
net::Task<bool> Flight::LocateObject() {
  stage_ = Stage::kLocating;
  located_.reset();
  too_large_.reset();
  window_given_ = false;
  context_.directory.Send(planner::Locate{entry_->object});
  while (!located_ && !inline_ && !over_ && wanted()) co_await changed_.Wait();
  if (located_ || inline_) co_return true;
  context_.directory.Send(planner::CancelLocate{entry_->object});
  co_return false;
}

net::Task<void> Flight::ReceiveAll() {
  stage_ = Stage::kReceiving;
  end_seen_ = false;
  context_.directory.Send(Wanting());
  entry_->Changed();  // whoever follows the growing copy may start
  read_ = received_ = 0;
  read_at_ = received_at_ = Now();
  while (!interrupted()) {
    CloseEndedGrants();
    if (IsWhole()) {
      Complete();
      co_return;
    }
    if (ReaderStalls()) {
      over_ = true;
      break;
    }
    AskAgainIfDue();
    StartDueGrants();
    ReportProgress();
    KeepOrLendPlace();
    const bool idle = granted_.empty() && !copy_->windowed();
    const Time now = Now();
    const Time look = received_at_ + kPlaceKept > now ? received_at_ + kPlaceKept : kNever;
    co_await changed_.Wait(idle ? look : now + kProgressEvery);
  }
  leaves_ = !recalled_;
  if (!recalled_) {
    context_.directory.Send(planner::CancelWant{entry_->object, copy_->version()});
  }
}

// One END speaks for the version, and all bytes are there. A lane that waits for an END of its own
// is left, unless its source has said it on another: then it is about to come.
bool Flight::IsWhole() const {
  const bool ending =
      std::ranges::any_of(granted_, [](const auto& granted) { return granted->ended > 0; });
  const bool may_seal = end_seen_ || context_.settings.planted(PlantedFault::kTrustsTheLastByte);
  return may_seal && !ending && copy_->layout().complete(copy_->marks());
}

void Flight::AskAgainIfDue() {
  if (!regrant_ || !granted_.empty()) return;
  regrant_ = false;
  context_.directory.Send(Wanting());
}

planner::Want Flight::Wanting() const {
  return {entry_->object, copy_->version(), copy_->marks(), copy_->windowed()};
}

// A reader that takes nothing of what lies ready holds up those who wait for the window: they get
// it, and he starts over.
bool Flight::ReaderStalls() {
  if (!copy_->windowed() || context_.settings.planted(PlantedFault::kKeepsStoppedReaders))
    return false;
  const std::uint64_t read = copy_->taken();
  const bool ready = copy_->layout().contiguous_prefix(copy_->marks()) > read;
  const Time now = Now();
  if (read != std::exchange(read_, read) || !ready) read_at_ = now;
  return now - read_at_ > context_.settings.patience();
}

// A grant that replaces another waits until that one is closed: a receiver closes its old upstream
// before it opens the next.
void Flight::StartDueGrants() {
  for (auto grant = grants_.begin(); grant != grants_.end();) {
    const auto replaced = std::ranges::find_if(granted_, [&](const auto& granted) {
      return (granted->grant.stripes & grant->stripes) != 0;
    });
    if (grant->version != copy_->version()) {
      grant = grants_.erase(grant);
    } else if (replaced != granted_.end()) {
      for (const auto& lane : (*replaced)->lanes) lane->Stop();
      ++grant;
    } else {
      StartLanes(std::move(*grant));
      grant = grants_.erase(grant);
    }
  }
}

void Flight::StartLanes(planner::Grant grant) {
  log::Debug("object {} version {}: stripes {:x} from {}", entry_->object.ToHex(),
             ToString(grant.version), grant.stripes, grant.source.name);
  auto granted = std::make_shared<GrantLanes>();
  granted->grant = std::move(grant);
  for (const StripeMask stripes : SplitIntoLanes(*copy_, granted->grant.stripes)) {
    granted->lanes.push_back(std::make_shared<ReceiveLane>(
        context_, data_plane_, data_plane_.NextLoop(), std::make_shared<CopySink>(copy_),
        granted->grant, stripes, 0,
        [weak = weak_from_this(),
         granted_weak = std::weak_ptr<GrantLanes>(granted)](const LaneEnd& end) {
          const auto self = weak.lock();
          const auto ended = granted_weak.lock();
          if (self && ended) self->OnLaneEnd(ended, end);
        }));
  }
  granted_.push_back(granted);
  for (const auto& lane : granted->lanes) lane->Start();
}

// One lane that fails ends the grant: its source is as good as gone for the others too.
void Flight::OnLaneEnd(const std::shared_ptr<GrantLanes>& granted, const LaneEnd& end) {
  ++granted->ended;
  if (end.outcome == Outcome::kDone) {
    end_seen_ = true;
  } else {
    if (granted->end.outcome == Outcome::kDone || granted->end.outcome == Outcome::kAbandoned)
      granted->end = end;
    for (const auto& other : granted->lanes) other->Stop();
  }
  changed_.Notify();
}

void Flight::CloseEndedGrants() {
  std::erase_if(granted_, [this](const std::shared_ptr<GrantLanes>& granted) {
    if (granted->ended < granted->lanes.size()) return false;
    if (granted->end.outcome == Outcome::kFailed) {
      log::Debug("object {} version {}: {}", entry_->object.ToHex(),
                 ToString(granted->grant.version), granted->end.why);
    }
    const bool kept = granted->end.outcome == Outcome::kFailed &&
                      context_.settings.planted(PlantedFault::kKeepsGrantsOpen);
    if (kept) return true;
    context_.directory.Send(planner::GrantClosed{entry_->object, granted->grant.version,
                                                 granted->grant.grant, granted->end.outcome,
                                                 granted->end.failure, copy_->marks()});
    return true;
  });
}

// The flight leaves nothing under way: memory is not dropped while a lane still writes to it.
net::Task<void> Flight::StopLanes() {
  for (const auto& granted : granted_) {
    for (const auto& lane : granted->lanes) lane->Stop();
  }
  CloseEndedGrants();
  while (!granted_.empty()) {
    co_await changed_.Wait();
    CloseEndedGrants();
  }
  for (const planner::Grant& grant : grants_) {
    context_.directory.Send(planner::GrantClosed{entry_->object, grant.version, grant.grant,
                                                 Outcome::kAbandoned, Failure::kNone,
                                                 copy_->marks()});
  }
  grants_.clear();
}

void Flight::ReportProgress() {
  if (granted_.empty()) return;
  const Time now = Now();
  if (now - reported_at_ < kProgressEvery) return;
  StripeMarks marks = copy_->marks();
  Duration starved{0};
  for (const auto& granted : granted_) {
    for (const auto& lane : granted->lanes) {
      starved = std::max<Duration>(starved, lane->starved_for());
    }
  }
  if (marks == reported_marks_ && starved == Duration{0}) return;
  reported_at_ = now;
  reported_marks_ = marks;
  TellProgress(std::move(marks), starved);
}

void Flight::TellProgress(StripeMarks marks, Duration starved) const {
  context_.directory.Send(planner::Progress{entry_->object, copy_->version(), std::move(marks),
                                            data_plane_.credit().bytes_per_second(), starved,
                                            data_plane_.round_trip().value()});
}

void Flight::Complete() {
  copy_->Seal();
  if (copy_->windowed()) {
    over_ = true;  // what is left in the window is its reader's
    context_.directory.Send(planner::CancelWant{entry_->object, copy_->version()});
    return;
  }
  TellProgress(copy_->marks(), Duration{0});  // also what a short transfer measured
  context_.store.Touch(entry_->object, Now());
  context_.directory.Send(planner::CopyComplete{entry_->object, copy_->version()});
  result_ = copy_;
}

void Flight::DropCopy(store::VoidReason reason) {
  if (!copy_) return;
  const bool read_out = copy_->windowed() && copy_->state() == store::CopyState::kFinal;
  if (read_out) return copy_.reset();
  const bool listed = context_.store.Find(entry_->object) == copy_;
  if (listed) context_.store.Remove(entry_->object);
  copy_->Void(reason);
  if (reason == store::VoidReason::kAborted) {
    context_.directory.Send(
        planner::CopyGone{entry_->object, copy_->version(), planner::GoneReason::kDropped});
  }
  copy_.reset();
}

void Flight::Finish(std::optional<Result<store::CopyPtr>> result) {
  result_ = std::move(result);
  stage_ = Stage::kOver;
  place_.reset();
  done_ = true;
  if (entry_->flight.get() == this) entry_->flight.reset();
  entry_->Changed();
}

void Flight::OnLocated(planner::Located located) {
  if (stage_ != Stage::kLocating) return;
  located_ = std::move(located);
  changed_.Notify();
}

void Flight::OnInline(planner::InlineObject object) {
  if (stage_ != Stage::kLocating) return;
  inline_ = std::move(object);
  changed_.Notify();
}

void Flight::OnGrant(planner::Grant grant) {
  const bool current = stage_ == Stage::kReceiving && copy_ && grant.version == copy_->version();
  if (!current) {
    const StripeMarks marks = copy_ ? copy_->marks() : StripeMarks();
    context_.directory.Send(planner::GrantClosed{entry_->object, grant.version, grant.grant,
                                                 Outcome::kAbandoned, Failure::kNone, marks});
    return;
  }
  grants_.push_back(std::move(grant));
  changed_.Notify();
}

void Flight::OnRecall(Version below) {
  const bool holds_older = copy_ && copy_->version() < below;
  const bool knows_older = located_ && located_->version < below;
  if (!holds_older && !knows_older) return;
  recalled_ = true;
  changed_.Notify();
}

void Flight::OnAborted(Error error) {
  error_ = std::move(error);
  over_ = true;
  changed_.Notify();
}

void Flight::OnDeleted() {
  error_ = Error(ErrorCode::kDeleted, "object " + entry_->object.ToHex() + " was deleted");
  deleted_ = true;
  over_ = true;
  changed_.Notify();
}

void Flight::Supersede() {
  over_ = true;
  changed_.Notify();
}

void Flight::OnLost() {
  // Without lanes the inventory repeats the Want; otherwise this flight says it when they ended.
  regrant_ = !granted_.empty();
  grants_.clear();
  for (const auto& granted : granted_) {
    for (const auto& lane : granted->lanes) lane->Stop();
  }
}

void Flight::Stop(const Error& why) {
  error_ = why;
  over_ = true;
  changed_.Notify();
}

std::string Flight::Waiting() const {
  switch (stage_) {
    case Stage::kLocating:
      return "it does not exist";
    case Stage::kReserving:
      return NoRoom();
    case Stage::kQueued:
      return fmt::format("{} other fetches of this node are under way, {} wait",
                         data_plane_.gate().under_way(), data_plane_.gate().waiting());
    case Stage::kReceiving:
      return "it has arrived up to " +
             std::to_string(copy_ ? copy_->layout().valid_bytes(copy_->marks()) : 0) + " of " +
             std::to_string(copy_ ? copy_->layout().size_bytes : 0) + " bytes" +
             (granted_.empty() ? ", and no holder serves it"
                               : " from " + granted_.front()->grant.source.name);
    case Stage::kOver:
      return "it has just ended";
  }
  return "";
}

std::optional<planner::Want> Flight::OpenWant() const {
  if (stage_ != Stage::kReceiving || !copy_) return std::nullopt;
  // A stream into a copy is told of beside the copy; the shard knows nothing of a leaf's.
  if (!copy_->windowed() && upstream() != kNoNode) return std::nullopt;
  return Wanting();
}

store::CopyPtr Flight::TakeWindow() {
  const bool there = stage_ == Stage::kReceiving && copy_ && copy_->windowed() && !interrupted();
  if (!there || std::exchange(window_given_, true)) return nullptr;
  return copy_;
}

NodeId Flight::upstream() const {
  if (!granted_.empty()) return granted_.front()->grant.source.id;
  return grants_.empty() ? kNoNode : grants_.front().source.id;
}

}  // namespace hoplite::node

#include "node/pull/flight.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "node/pull/lanes.h"
#include "node/pull/subscription.h"
#include "protocol/failure.h"

namespace hoplite::node {
namespace {

using protocol::Failure;
using protocol::Outcome;

constexpr Duration kProgressEvery = std::chrono::milliseconds(30);
// What took longer to come is said to be silent.
constexpr Duration kSilence = std::chrono::milliseconds(500);

std::string InWords(const Flight::LinkRate& link) {
  if (link.bytes_per_second == 0 || link.at == kNever) return "";
  const std::string age = FormatAge(Now() - link.at);
  return fmt::format(" (this node's link {} {}{})", age.empty() ? "carries" : "carried",
                     FormatSize(link.bytes_per_second), age);
}

}  // namespace

Flight::Flight(Context& context, DataPlane& data_plane, EntryPtr entry)
    : context_(context),
      data_plane_(data_plane),
      entry_(std::move(entry)),
      state_(context.decisions.Flight(entry_->object)),
      changed_(context.runtime.main()) {}

Flight::~Flight() {
  if (adopted()) copy_->RemoveListener(this);
}

void Flight::Adopt(store::CopyPtr copy) {
  copy_ = std::move(copy);
  state_->Adopt({.object = entry_->object,
                 .version = copy_->version(),
                 .layout = copy_->layout(),
                 .metadata = copy_->metadata()},
                copy_->made_here());
  copy_->AddListener(this);
}

// The last byte may be made here, and others wait to hear that there is a whole copy (R21).
void Flight::OnCopyChanged() noexcept {
  if (copy_->whole()) changed_.Notify();
}

void Flight::Start() {
  if (std::exchange(started_, true)) return;
  data_plane_.gate().Begun(Now());
  context_.runtime.Spawn(context_.runtime.main(), "fetch", Fly());
}

net::Task<void> Flight::Fly() {
  const auto self = shared_from_this();
  while (!over_ && wanted()) {
    if (!adopted() && !co_await LocateObject()) break;
    if (inline_) break;
    located_at_ = Now();
    if (!co_await ReserveMemory()) {
      if (state_->recalled() && !error_ && !adopted()) continue;
      break;
    }
    co_await ReceiveAll();
    co_await Leave();
    turn_.reset();
    // Deleted, or put anew, while the last streams of a complete copy ended: that was left to us.
    if (state_->deleted() || state_->recalled()) result_.reset();
    if (result_ || !state_->recalled()) break;
    const bool once = adopted();  // another version may be made here: whoever waits looks
    DropCopy(store::VoidReason::kRecalled);
    if (once) break;
  }
  if (inline_ && !over_) {
    auto copy = co_await TakeInline();
    if (copy || !context_.memory.fits_ever(inline_->bytes->size())) result_ = std::move(copy);
  }
  if (!result_) {
    DropCopy(state_->deleted() ? store::VoidReason::kDeleted : store::VoidReason::kAborted);
  }
  if (error_ && !result_) result_ = std::unexpected(*error_);
  Finish(std::move(result_));
}

// False when the flight is over or nobody wants it any more.
net::Task<bool> Flight::LocateObject() {
  too_large_.reset();
  window_given_ = false;
  given_.reset();
  leaves_ = false;
  JoinIfSeveral();
  planner::FlightState::Effects effects;
  state_->Locate(effects, NextQuestion(), entry_->expectations().newest());
  context_.Note(Decided::kAsked, entry_->object);
  asked_at_ = NowSinceBoot();
  Carry(effects);
  while (state_->locating() && !over_ && wanted()) co_await changed_.Wait();
  room_.reset();
  if (!state_->locating()) co_return true;
  co_await Leave();
  co_return false;
}

net::Task<void> Flight::ReceiveAll() {
  JoinIfSeveral();
  if (!state_->receiving()) {
    planner::FlightState::Effects effects;
    state_->Receive(Marks(), copy_->windowed(), Now(), effects);
    Carry(effects);
  }
  entry_->Changed();  // whoever follows the growing copy may start
  while (!interrupted()) {
    const StripeMarks marks = Marks();
    arrival_.Note(copy_->layout().valid_bytes(marks), Now());
    if (Step(marks) || TakeGiven()) {
      Complete();
      co_return;
    }
    if (ReaderStalls(marks)) {
      over_ = true;
      break;
    }
    JoinIfSeveral();
    ReportProgress(marks);
    KeepOrLendTurn(marks);
    const bool idle = granted_.empty() && !copy_->windowed();
    const Time now = Now();
    const Time lends = state_->turn_kept_until();
    const Time look = lends > now ? lends : kNever;
    co_await changed_.Wait(idle ? look : now + kProgressEvery);
  }
  leaves_ = !state_->recalled();
}

// Nothing is left under way: memory is not dropped while a lane still writes to it.
net::Task<void> Flight::Leave() {
  planner::FlightState::Effects effects;
  state_->Leave(Marks(), effects);
  Carry(effects);
  while (!state_->left()) {
    co_await changed_.Wait();
    Step(Marks());
  }
}

// True: it is whole.
bool Flight::Step(const StripeMarks& marks) {
  planner::FlightState::Effects effects;
  state_->Step(marks, effects);
  Carry(effects);
  return effects.whole;
}

void Flight::Carry(const planner::FlightState::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) context_.directory.Send(event);
  for (const protocol::Grant& grant : effects.open) StartLanes(grant);
  for (const GrantId& grant : effects.stop) StopLanes(grant);
}

bool Flight::ReaderStalls(const StripeMarks& marks) {
  if (!copy_->windowed()) return false;
  return state_->ReaderStalls(copy_->layout().contiguous_prefix(marks), copy_->taken(),
                              context_.settings.patience(), Now());
}

void Flight::StartLanes(const protocol::Grant& grant) {
  ++context_.counters.grants;
  if (grant.replaces) ++context_.counters.moves;
  context_.Note(grant.replaces ? Decided::kMoved : Decided::kGranted, entry_->object,
                grant.source.name);
  log::Debug("object {} version {}: stripes {:x} from {}", entry_->object.ToHex(),
             ToString(grant.version), grant.stripes, grant.source.name);
  if (const std::uint64_t there = bytes(); there > 0) {
    context_.Note(Decided::kResumed, entry_->object, fmt::format("at {} bytes", there));
  }
  auto granted = std::make_shared<GrantLanes>();
  granted->grant = grant;
  granted->link_before = {data_plane_.credit().bytes_per_second(), data_plane_.credit().measured()};
  if (granted_.empty()) arrival_.Begin(bytes(), Now());
  for (const StripeMask stripes :
       SplitIntoLanes(*copy_, grant.stripes, context_.settings.two_lanes_from)) {
    granted->lanes.push_back(std::make_shared<ReceiveLane>(
        context_, data_plane_, data_plane_.LoopFor(copy_->layout().size_bytes),
        std::make_shared<CopySink>(copy_), granted->grant, stripes, 0,
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

void Flight::StopLanes(const GrantId& grant) {
  for (const auto& granted : granted_) {
    if (granted->grant.grant != grant) continue;
    for (const auto& lane : granted->lanes) lane->Stop();
  }
}

// Who can't connect to whom takes both addresses.
std::string Flight::WhyFailed(const LaneEnd& end) const {
  if (end.failure != Failure::kUnreachable) return end.why;
  return fmt::format("{} at {} from {}", context_.settings.name, data_plane_.address(), end.why);
}

// One lane that fails ends the grant: its source is as good as gone for the others too.
void Flight::OnLaneEnd(const std::shared_ptr<GrantLanes>& granted, const LaneEnd& end) {
  const GrantId& grant = granted->grant.grant;
  state_->EndedInPart(grant, end.outcome == Outcome::kDone);
  if (end.outcome != Outcome::kDone) {
    const bool stopped = granted->end.outcome == Outcome::kAbandoned;
    if (granted->end.outcome == Outcome::kDone ||
        (stopped && granted->end.failure == Failure::kNone))
      granted->end = end;
    for (const auto& other : granted->lanes) other->Stop();
  }
  if (++granted->ended == granted->lanes.size()) {
    if (granted->end.outcome == Outcome::kFailed) {
      log::Debug("object {} version {}: {}", entry_->object.ToHex(),
                 ToString(granted->grant.version), granted->end.why);
      context_.Note(Decided::kFailed, entry_->object, granted->end.why);
      if (granted->end.failure != Failure::kNotAhead) last_failure_ = WhyFailed(granted->end);
    }
    state_->Ended(grant, granted->end.outcome, granted->end.failure);
    std::erase(granted_, granted);
  }
  changed_.Notify();
}

void Flight::JoinIfSeveral() {
  if (!data_plane_.gate().several(Now())) return;
  planner::FlightState::Effects effects;
  state_->Join(Marks(), effects);
  Carry(effects);
}

void Flight::ReportProgress(const StripeMarks& marks) {
  const Time now = Now();
  const bool at_once = adopted() && copy_->layout().complete(marks) && marks != reported_marks_;
  const bool due = !granted_.empty() && now - reported_at_ >= kProgressEvery;
  if (!at_once && !due) return;
  Duration starved{0};
  for (const auto& granted : granted_) {
    for (const auto& lane : granted->lanes) {
      starved = std::max<Duration>(starved, lane->starved_for());
    }
  }
  if (marks == reported_marks_ && starved == Duration{0}) return;
  reported_at_ = now;
  reported_marks_ = marks;
  TellProgress(marks, starved);
}

void Flight::TellProgress(const StripeMarks& marks, Duration starved) const {
  context_.directory.Send(protocol::Progress{entry_->object, copy_->version(), marks,
                                             data_plane_.credit().bytes_per_second(), starved,
                                             data_plane_.round_trips().nearest(), Now()});
}

void Flight::Complete() {
  copy_->Seal();
  context_.counters.fetch_latency.Add(Now() - located_at_);
  context_.Note(Decided::kComplete, entry_->object);
  if (copy_->windowed()) {
    over_ = true;  // what is left in the window is its reader's
  } else {
    TellProgress(copy_->marks(), Duration{0});  // also what a short transfer measured
    context_.store.Touch(entry_->object, Now());
    if (adopted()) context_.store.MakeRelayed(entry_->object);  // like any reader's
    result_ = copy_;
  }
  planner::FlightState::Effects effects;
  state_->Complete(effects);
  Carry(effects);
}

void Flight::DropCopy(store::VoidReason reason) {
  if (!copy_) return;
  if (adopted()) copy_->RemoveListener(this);
  const bool read_out = copy_->windowed() && copy_->state() == store::CopyState::kFinal;
  if (read_out) return copy_.reset();
  const bool listed = context_.store.Find(entry_->object) == copy_;
  if (listed) context_.store.Remove(entry_->object);
  copy_->Void(reason);
  copy_.reset();
}

void Flight::Finish(std::optional<Result<store::CopyPtr>> result) {
  result_ = std::move(result);
  turn_.reset();
  data_plane_.gate().Ended(Now());
  done_ = true;
  entry_->Ended(*this);
  entry_->Changed();
}

void Flight::OnLocated(const protocol::Located& located) {
  planner::FlightState::Effects effects;
  const bool news = state_->On(located, effects);
  if (news && state_->wants()) UseRoom(effects);
  Carry(effects);
  if (!news) return;
  room_.reset();
  changed_.Notify();
}

void Flight::OnInline(protocol::InlineObject object) {
  planner::FlightState::Effects effects;
  const bool given = state_->OnGiven(object, effects);
  const bool news = !given && state_->On(object, effects);
  Carry(effects);
  if (given) {
    given_ = std::move(object.bytes);
    return changed_.Notify();
  }
  if (news) Answer(std::move(object));
}

void Flight::OnHandedOn(protocol::InlineObject object) {
  planner::FlightState::Effects effects;
  const bool news = state_->OnHandedOn(object.number, effects);
  Carry(effects);
  if (news) Answer(std::move(object));
}

void Flight::Answer(protocol::InlineObject object) {
  room_.reset();
  ++context_.counters.inline_fetches;
  context_.Note(Decided::kComplete, entry_->object, "with the answer");
  inline_ = std::move(object);
  changed_.Notify();
}

void Flight::OnGrant(const protocol::Grant& grant) {
  planner::FlightState::Effects effects;
  state_->On(grant, Marks(), effects);
  Carry(effects);
  changed_.Notify();
}

void Flight::OnRecall(Version below) {
  if (!state_->OnRecall(below)) return;
  context_.Note(Decided::kRecalled, entry_->object);
  changed_.Notify();
}

void Flight::OnAborted(Error error) {
  error_ = std::move(error);
  over_ = true;
  changed_.Notify();
}

void Flight::OnDeleted() {
  error_ = Error(ErrorCode::kDeleted, "object " + entry_->object.ToHex() + " was deleted");
  state_->OnDeleted();
  context_.Note(Decided::kDeleted, entry_->object);
  over_ = true;
  changed_.Notify();
}

void Flight::Supersede() {
  over_ = true;
  changed_.Notify();
}

void Flight::OnCommitted() {
  committed_ = true;
  state_->OnCommitted();
  changed_.Notify();
}

void Flight::OnHolderLost() {
  if (!std::exchange(committed_, false)) return;
  bereft_ = true;
  changed_.Notify();
}

// Else the shard has been told where it is, or hears it with the Locate that is still to be said.
void Flight::Expect() {
  planner::FlightState::Effects effects;
  state_->Expect(effects, entry_->expectations().newest());
  Carry(effects);
}

void Flight::OnLost() {
  planner::FlightState::Effects effects;
  state_->OnLost(effects);
  Carry(effects);
}

void Flight::Stop(const Error& why) {
  error_ = why;
  over_ = true;
  changed_.Notify();
}

bool Flight::unserved() const {
  return state_->locating() || (copy_ && granted_.empty() && !done_ && !state_->left());
}

std::string Flight::From(const GrantLanes& granted) const {
  const std::string& source = granted.grant.source.name;
  const Time now = Now();
  if (const Duration silent = arrival_.Silent(now); silent >= kSilence) {
    return fmt::format(" from {}, which has sent nothing for {:.1f} s", source, ToSeconds(silent));
  }
  const std::uint64_t rate = arrival_.BytesPerSecond(now);
  if (rate == 0) return " from " + source;
  return fmt::format(" from {}, {} a second{}", source, FormatSize(rate), InWords(link()));
}

Flight::LinkRate Flight::link() const {
  const LinkRate now{data_plane_.credit().bytes_per_second(), data_plane_.credit().measured()};
  if (granted_.empty()) return now;
  const LinkRate& before = granted_.front()->link_before;
  return before.bytes_per_second > now.bytes_per_second ? before : now;
}

std::uint64_t Flight::arriving() const {
  return data_plane_.credit().flowing() > 0 ? data_plane_.credit().bytes_per_second() : 0;
}

bool Flight::others_arrive() const {
  std::size_t own = 0;
  for (const auto& granted : granted_) own += granted->lanes.size() - granted->ended;
  return data_plane_.credit().flowing() > static_cast<int>(own);
}

WaitReason Flight::wait_reason() const {
  if (state_->locating()) return vouched() ? WaitReason::kAbsent : WaitReason::kShard;
  if (turn_ && turn_->waits()) return WaitReason::kTurn;
  if (!copy_) return WaitReason::kMemory;
  return granted_.empty() && !done_ ? WaitReason::kHolder : WaitReason::kBytes;
}

// The shard says nothing of what does not exist. It has heard the question if it has answered what
// was sent later.
bool Flight::vouched() const {
  const std::size_t shard = context_.ShardOf(entry_->object);
  return context_.directory.connected(shard) && context_.directory.vouched(shard) > asked_at_;
}

std::string Flight::WaitingHere() const {
  if (state_->locating() || done_ || state_->left()) return "";
  if (turn_ && turn_->waits()) {
    const FlightGate& gate = data_plane_.gate();
    return fmt::format(
        "it waits for its turn: {} other fetches of this node are under way, {} may be at a time "
        "(--max-fetches), {} wait",
        gate.under_way(), gate.most(), gate.waiting());
  }
  return copy_ ? "" : NoRoom();
}

std::string Flight::Waiting(const std::string& said) const {
  if (state_->locating()) {
    if (!said.empty()) return said;
    const std::size_t shard = context_.ShardOf(entry_->object);
    if (!context_.directory.connected(shard)) return "it is not at this node";
    if (vouched()) return protocol::kDoesNotExist;
    return "it is not at this node, and its directory shard has not answered yet";
  }
  if (done_ || state_->left()) return "it has just ended";
  if (std::string here = WaitingHere(); !here.empty()) return here;
  const Layout& layout = copy_->layout();
  const std::string from = granted_.empty()
                               ? ", and no holder serves it" + (said.empty() ? "" : ": " + said)
                               : From(*granted_.front());
  return fmt::format("it has arrived up to {} of {} bytes{}{}{}",
                     layout.valid_bytes(copy_->marks()), layout.size_bytes, from,
                     last_failure_.empty() ? "" : "; the last failure: ", last_failure_);
}

store::CopyPtr Flight::TakeWindow() {
  const bool there = state_->receiving() && copy_ && copy_->windowed() && !interrupted();
  if (!there || std::exchange(window_given_, true)) return nullptr;
  return copy_;
}

}  // namespace hoplite::node

#include "node/coordinator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "node/core.h"

namespace hoplite::node {

Coordinator::Coordinator(Services& services, Core& core, EntryPtr target, ReduceOptions options,
                         CallPtr call, std::uint64_t request)
    : services_(services),
      core_(core),
      target_(std::move(target)),
      options_(std::move(options)),
      call_(std::move(call)),
      request_(request),
      planner_(options_, services.settings.self, request),
      small_fold_(options_) {}

net::Task<Result<ReduceOutcome>> Coordinator::Run() {
  const auto self = shared_from_this();
  Watch();
  services_.directory.Send(Request());
  Result<ReduceOutcome> outcome = co_await Drive();
  for (const CallPtr& get : gets_) get->Cancel();
  watches_.clear();
  // Gives up, or confirms that the outcome is known.
  if (!refused_) {
    planner::ReduceClose close{.object = target_->object, .request = request_};
    if (!outcome) {
      close.code = outcome.error().code;
      close.message = outcome.error().message;
    }
    services_.directory.Send(std::move(close));
  }
  target_->coordinator.reset();
  target_->Changed();
  co_return outcome;
}

void Coordinator::Watch() {
  for (const ObjectId& source : options_.sources) {
    watches_.push_back(core_.Watch(
        source,
        [weak = weak_from_this()](const planner::Location& location) {
          if (const auto self = weak.lock()) self->OnLocation(location);
        },
        [weak = weak_from_this(), source] {
          const auto self = weak.lock();
          if (!self) return;
          self->planner_.OnDeleted(source);
          self->call_->changed.Notify();
        },
        [weak = weak_from_this(), source](NodeId node) {
          if (const auto self = weak.lock()) self->planner_.OnHolderGone(source, node);
        }));
  }
}

void Coordinator::OnLocation(const planner::Location& location) {
  const bool final = location.kind == planner::LocationKind::kComplete || location.producing;
  if (final || location.kind == planner::LocationKind::kInline) {
    planner_.OnHolder(location.object, location.node, location.version, location.layout,
                      location.metadata, services_.clock.Now());
  } else {
    // Also what a node has in part: that it had all of another version may be the last we heard.
    planner_.OnHolderGone(location.object, location.node);
  }
  call_->changed.Notify();
}

net::Task<Result<ReduceOutcome>> Coordinator::Drive() {
  for (;;) {
    if (auto ended = Ended()) co_return std::move(*ended);
    if (opened_ && small()) co_return co_await FoldHere();
    std::vector<planner::NodeEvent> orders;
    const Time next = small() ? kNever : planner_.Plan(services_.clock.Now(), orders);
    for (planner::NodeEvent& order : orders) services_.directory.Send(std::move(order));
    if (planner_.failure()) continue;
    co_await call_->changed.Wait(std::min(next, call_->deadline));
  }
}

std::optional<Result<ReduceOutcome>> Coordinator::Ended() const {
  if (committed_) return OutcomeOf(committed_->used);
  if (refused_) return std::unexpected(*refused_);
  if (planner_.failure()) return std::unexpected(*planner_.failure());
  if (core_.stopped()) return std::unexpected(*core_.stopped());
  if (call_->cancelled || services_.clock.Now() >= call_->deadline) {
    return std::unexpected(GaveUp());
  }
  return std::nullopt;
}

Error Coordinator::GaveUp() const {
  const std::string name = "the reduction into " + target_->object.ToHex();
  if (call_->cancelled) return {ErrorCode::kCancelled, name + " was cancelled"};
  std::string why = planner_.Missing();
  if (why.empty()) why = "all sources are there, their bytes are still being folded";
  if (small() && !gets_.empty()) {
    why += fmt::format("; {} of them are, {} are being fetched", small_fold_.folded().size(),
                       gets_.size());
  }
  if (!opened_) why = "the directory did not answer";
  return {ErrorCode::kTimeout, name + " is not complete at the deadline: " + why};
}

ReduceOutcome Coordinator::OutcomeOf(const std::vector<ObjectId>& used) const {
  ReduceOutcome outcome{.target = target_->object, .used = {}, .unused = {}};
  for (const ObjectId& source : options_.sources) {
    const bool counts = std::ranges::find(used, source) != used.end();
    (counts ? outcome.used : outcome.unused).push_back(source);
  }
  return outcome;
}

planner::ReduceOpen Coordinator::Request() const { return {target_->object, request_}; }

// --- what the shard says
// ------------------------------------------------------------------------------

// Once more after each interrupted session. Only now does a shard that forgot take orders.
void Coordinator::On(const planner::ReduceOpened& opened) {
  if (opened.request != request_) return;
  opened_ = true;
  planner_.OnOpened(opened.link);
  for (planner::NodeEvent& order : planner_.Orders()) services_.directory.Send(std::move(order));
  call_->changed.Notify();
}

void Coordinator::On(const planner::ReduceRefused& refused) {
  if (refused.request != request_) return;
  refused_ = Error(refused.code, refused.message);
  call_->changed.Notify();
}

void Coordinator::On(const planner::SlotLost& lost) {
  if (lost.request != request_) return;
  log::Debug("reduction into {}: position {} is lost: {}", target_->object.ToShortString(),
             lost.slot, lost.message);
  planner_.OnSlotLost(lost, services_.clock.Now());
  call_->changed.Notify();
}

void Coordinator::On(const planner::ReduceCommitted& committed) {
  if (committed.request != request_) return;
  committed_ = committed;
  call_->changed.Notify();
}

// --- small objects: no tree
// -------------------------------------------------------------------------

bool Coordinator::small() const {
  return planner_.layout() &&
         planner_.layout()->size_bytes <= services_.settings.inline_limit_bytes;
}

net::Task<Result<ReduceOutcome>> Coordinator::FoldHere() {
  for (;;) {
    if (auto ended = Ended()) co_return std::move(*ended);
    if (never_fits_) co_return std::unexpected(*never_fits_);
    if (small_fold_.whole()) co_return co_await CreateTarget();
    AskForSources();
    co_await call_->changed.Wait(std::min(small_fold_.next_try(), call_->deadline));
  }
}

void Coordinator::AskForSources() {
  for (const ObjectId& source : small_fold_.Due(planner_.Available(), services_.clock.Now())) {
    services_.runtime.Spawn(services_.runtime.main(), "source of a small reduction",
                            GetSource(source));
  }
}

// Its memory is given back before the next one is waited for (R45).
net::Task<void> Coordinator::GetSource(ObjectId source) {
  const auto self = shared_from_this();
  const auto get = std::make_shared<Call>(services_.runtime.main());
  get->deadline = call_->deadline;
  get->hurries = true;
  gets_.push_back(get);
  Result<store::CopyPtr> got = co_await core_.Get(source, get);
  std::erase(gets_, get);
  const bool counts = got && small_fold_.OnBytes(source, (*got)->bytes());
  if (got) {
    got->reset();
    services_.memory.OnSpace();
  }
  if (!got && got.error().code == ErrorCode::kResourceExhausted) {
    never_fits_ = got.error();
  } else if (!counts) {
    small_fold_.OnFailed(source, services_.clock.Now());  // lost, deleted or put anew meanwhile
  }
  call_->changed.Notify();
}

net::Task<Result<ReduceOutcome>> Coordinator::CreateTarget() {
  creating_ = true;
  for (const CallPtr& get : gets_) get->Cancel();
  const std::vector<std::byte>& sum = small_fold_.sum();
  CO_TRY_ASSIGN(const std::shared_ptr<Draft> draft,
                co_await core_.Create(target_->object, sum.size(), planner_.metadata(), call_));
  std::ranges::copy(sum, draft->copy()->bytes().begin());
  CO_TRY(draft->Advance(sum.size(), {}));
  CO_TRY(co_await draft->Seal(call_));
  co_return OutcomeOf(small_fold_.folded());
}

}  // namespace hoplite::node

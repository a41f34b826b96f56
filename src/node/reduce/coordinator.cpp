#include "node/reduce/coordinator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "directory/away.h"
#include "node/core/held.h"
#include "node/owners/owners.h"
#include "node/pull/made_copy.h"
#include "node/pull/subscription.h"
#include "node/reduce/slot.h"
#include "protocol/failure.h"

namespace hoplite::node {
namespace {

// A target that exists waits so long for memory for a copy here.
constexpr Duration kKeepPatience = std::chrono::seconds(5);

}  // namespace

Coordinator::Coordinator(Context& context, Operations& calls, EntryPtr target,
                         ReduceOptions options, CallPtr call, std::uint64_t request)
    : context_(context),
      calls_(calls),
      target_(std::move(target)),
      options_(std::move(options)),
      call_(std::move(call)),
      reduction_(options_, context.settings.self, request),
      small_fold_(options_) {
  reduction_.OnSite(context.settings.self, context.settings.site);
  if (options_.owned) {
    owner_number_ = context_.owners.BeginReduction(options_.target, *call_->client, call_->grace);
  }
  if (OneShard()) reduction_.AskShardToFold(options_);
}

protocol::ReduceOpen Coordinator::Request() const {
  protocol::ReduceOpen request = reduction_.Request();
  request.owned = options_.owned;
  request.number = owner_number_;
  request.grace = call_->grace;
  return request;
}

net::Task<Result<ReduceOutcome>> Coordinator::Run() {
  const auto self = shared_from_this();
  Watch();
  context_.directory.Send(Request());
  const Time begun = Now();
  Result<ReduceOutcome> outcome = co_await Drive();
  if (!outcome && outcome.error().code == ErrorCode::kTimeout) {
    Error why = co_await calls_.GaveUp(target_->object, call_, begun);
    auto settled = Settled();  // meanwhile
    outcome = settled ? std::move(*settled) : std::unexpected(std::move(why));
  }
  for (const CallPtr& get : gets_) get->Cancel();
  watches_.clear();
  const Error* why = outcome ? nullptr : &outcome.error();
  auto close = reduction_.Close(why);
  const bool refused = !close;
  if (close) context_.directory.Send(std::move(*close));
  EndOwning(refused);
  target_->EndCoordination();
  target_->Changed();
  if (const auto* folded = reduction_.folded()) co_await KeepTarget(*folded);
  co_return outcome;
}

// The Create of a small target owns by itself; any other is owned from its commit on, and a commit
// may be under way when the reduction is given up.
void Coordinator::EndOwning(bool refused) {
  if (!options_.owned) return;
  using enum Owners::ReductionEnd;
  const bool maybe = !refused && (reduction_.asks_shard() || (reduction_.opened() && !small()));
  context_.owners.OnReductionEnd(target_->object, *call_->client, owner_number_,
                                 reduction_.committed() ? kCommitted
                                 : maybe                ? kUnknown
                                                        : kNever);
}

void Coordinator::Watch() {
  for (const ObjectId& source : options_.sources) {
    watches_.push_back(
        calls_.Watch(source,
                     {
                         .on_location =
                             [weak = weak_from_this()](const protocol::Location& location) {
                               const auto self = weak.lock();
                               if (self) self->Hear(location);
                             },
                         .on_deleted =
                             [weak = weak_from_this(), source] {
                               const auto self = weak.lock();
                               if (!self) return;
                               self->reduction_.OnDeleted(source);
                               self->call_->changed.Notify();
                             },
                         .on_failed =
                             [weak = weak_from_this(), source](const Error& why) {
                               const auto self = weak.lock();
                               if (!self) return;
                               self->reduction_.OnFailed(source, why);
                               self->call_->changed.Notify();
                             },
                         .on_forgotten =
                             [weak = weak_from_this(), source](NodeId node) {
                               if (const auto self = weak.lock())
                                 self->reduction_.OnHolderGone(source, node);
                             },
                     },
                     options_.only_if_owned));
  }
}

void Coordinator::Hear(const protocol::NodeAction& word) {
  if (const auto* lost = std::get_if<protocol::SlotLost>(&word)) {
    log::Debug("reduction into {}: slot {} is lost: {}", target_->object.ToHex(), lost->slot,
               lost->message);
  }
  std::vector<protocol::NodeEvent> orders;
  reduction_.Hear(word, Now(), orders);
  Say(std::move(orders));
  call_->changed.Notify();
}

void Coordinator::Outlive() {
  Hear(protocol::ReduceRefused{target_->object, Request().request, ErrorCode::kPeerLost,
                               "the reduction into " + target_->object.ToHex() +
                                   " ended: the directory had lost node " + context_.settings.name +
                                   ", its coordinator, for longer than deletions are remembered"});
}

void Coordinator::Say(std::vector<protocol::NodeEvent> events) {
  for (protocol::NodeEvent& event : events) context_.directory.Send(std::move(event));
}

// Of a plan that is new; a tree is said slot by slot after its shape.
void Coordinator::LogPlan(const std::vector<protocol::NodeEvent>& orders) const {
  const auto is_new = [](const protocol::NodeEvent& event) {
    const auto* said = std::get_if<protocol::ReduceOrders>(&event);
    return std::holds_alternative<protocol::ReduceShape>(event) ||
           (said != nullptr && said->plan != 0);
  };
  if (std::ranges::none_of(orders, is_new)) return;
  log::Debug("reduction into {}: {}", target_->object.ToHex(), reduction_.planner().Describe());
}

net::Task<Result<ReduceOutcome>> Coordinator::Drive() {
  for (;;) {
    if (auto ended = Ended()) co_return std::move(*ended);
    // A shard that is started again with another limit does not change the way under way.
    if (reduction_.opened() && !small_to_) small_to_ = LargestKept();
    std::vector<protocol::NodeEvent> orders;
    Time next = kNever;
    if (!small()) {
      next = reduction_.Plan(Now(), orders);
    } else if (reduction_.opened()) {
      using enum planner::ReduceCoordinator::SmallWay;
      const auto way = reduction_.NextOfSmall();
      if (way == kFetch) co_return co_await FoldHere();
      if (way == kAsk) orders.emplace_back(Request());
    }
    LogPlan(orders);
    Say(std::move(orders));
    if (reduction_.Outcome()) continue;
    co_await call_->changed.Wait(std::min(next, call_->deadline));
  }
}

std::optional<Result<ReduceOutcome>> Coordinator::Settled() const {
  if (const auto outcome = reduction_.Outcome()) {
    if (!*outcome) return std::unexpected(outcome->error());
    return OutcomeOf(**outcome);
  }
  if (context_.table.stopped()) return std::unexpected(*context_.table.stopped());
  return std::nullopt;
}

// Run says more of a deadline.
std::optional<Result<ReduceOutcome>> Coordinator::Ended() const {
  if (auto settled = Settled()) return settled;
  const std::string name = "the reduction into " + target_->object.ToHex();
  if (call_->cancelled) {
    return std::unexpected(Error(ErrorCode::kCancelled, name + " was cancelled"));
  }
  if (Now() < call_->deadline) return std::nullopt;
  return std::unexpected(Error(ErrorCode::kTimeout, name + " is not complete"));
}

std::string Coordinator::Unfinished() const {
  if (!reduction_.opened()) {
    const std::size_t shards = context_.directory.shard_count();
    return directory::Away(directory::ShardOf(target_->object, shards), directory::kNoAnswer);
  }
  std::string why = reduction_.planner().Missing();
  if (why.empty()) why = "all sources are there, their bytes are still being folded";
  for (const ObjectId& source : options_.sources) {
    const EntryPtr entry = context_.table.Find(source);
    if (!entry || entry->loss().empty()) continue;
    why += fmt::format("; of {}, {}", source.ToHex(), protocol::InWords(entry->loss()));
    break;
  }
  const std::string& loss = reduction_.planner().last_loss();
  if (!loss.empty()) why += "; the last loss: " + loss;
  if (small() && !gets_.empty()) {
    why += fmt::format("; {} of them are, {} are being fetched", small_fold_.folded().size(),
                       gets_.size());
  }
  return why + context_.IfAway(target_->object);
}

WaitReason Coordinator::wait_reason() const {
  if (!reduction_.opened()) return WaitReason::kShard;
  return reduction_.planner().Missing().empty() ? WaitReason::kBytes : WaitReason::kSources;
}

std::string WhyReductionWaits(const ObjectEntry& entry) {
  std::string why = entry.coordinator() ? entry.coordinator()->Unfinished() : "";
  for (const auto& [number, here] : entry.slots()) {
    const std::string memory = here.slot->Waiting();
    if (memory.empty()) continue;
    if (!why.empty()) why += "; ";
    why += memory;
    break;
  }
  return why;
}

ReduceOutcome Coordinator::OutcomeOf(const std::vector<ObjectId>& used) const {
  ReduceOutcome outcome{.target = target_->object, .used = {}, .unused = {}};
  for (const ObjectId& source : options_.sources) {
    const bool counts = std::ranges::find(used, source) != used.end();
    (counts ? outcome.used : outcome.unused).push_back(source);
  }
  return outcome;
}

// --- small objects: no tree

bool Coordinator::small() const {
  const auto& layout = reduction_.planner().layout();
  if (!layout) return false;
  return layout->size_bytes <= (small_to_ ? *small_to_ : LargestKept());
}

// By any shard: perhaps no node holds a source that one of them keeps.
std::uint64_t Coordinator::LargestKept() const {
  const directory::DirectoryClient& directory = context_.directory;
  std::uint64_t largest = 0;
  for (std::size_t shard = 0; shard < directory.shard_count(); ++shard) {
    largest = std::max(largest, directory.inline_limit(shard));
  }
  return largest;
}

bool Coordinator::OneShard() const {
  return std::ranges::all_of(options_.sources, [&](const ObjectId& source) {
    return context_.ShardOf(source) == context_.ShardOf(target_->object);
  });
}

// The shard counts on a copy here, as on that of a Put. Without memory at once it is told that there
// is none, and later that there is; whoever reads meanwhile gets the directory's bytes.
net::Task<void> Coordinator::KeepTarget(protocol::ReduceCommitted folded) {
  const Layout layout = Layout::For(folded.bytes->size());
  const Time patience = std::min(call_->deadline, Now() + kKeepPatience);
  MemoryBroker::Waiter space(context_.memory, call_->changed);
  std::optional<Subscription> watch;
  Version newest = folded.version;
  const auto hear = [&](const protocol::Location& place) {
    newest = std::max(newest, place.version);
  };
  while (!target_->deleted(Now()) && newest == folded.version && !context_.table.stopped()) {
    if (const auto copy = space.Try(target_->object, layout, folded.metadata)) {
      if (Keep(*copy, folded) && watch) SayHeld(**copy);
      co_return;
    }
    if (call_->cancelled || Now() >= patience) break;
    if (!watch) {
      SayGone(folded.version);
      watch.emplace(context_.directory, target_, Subscriber{.on_location = hear});
      for (const auto& [node, place] : target_->followers().places()) hear(place);
    }
    co_await call_->changed.Wait(patience);
  }
  if (!watch) SayGone(folded.version);
}

// False: there is a copy of this version, or of a newer one.
bool Coordinator::Keep(const store::CopyPtr& copy, const protocol::ReduceCommitted& folded) {
  const store::CopyPtr present = context_.store.Find(target_->object);
  if (present && present->version() >= folded.version) return false;
  Fill(*copy, *folded.bytes, copy->layout().all_stripes());
  copy->set_version(folded.version);
  copy->Seal();
  const auto listed = ListMade(context_, *target_, copy);
  if (!listed) log::ErrorLine("{}: {}", target_->object.ToHex(), listed.error().message);
  context_.store.Touch(target_->object, Now());
  target_->Changed();
  return listed.has_value();
}

void Coordinator::SayGone(Version version) const {
  context_.directory.Send(
      protocol::CopyGone{target_->object, version, protocol::GoneReason::kDropped});
}

// Whatever became of the shard meanwhile.
void Coordinator::SayHeld(const store::Copy& copy) const {
  protocol::Held held = HeldOf(copy);
  held.primary = true;
  context_.directory.Send(std::move(held));
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
  for (const ObjectId& source : small_fold_.Due(reduction_.planner().Available(), Now())) {
    context_.runtime.Spawn(context_.runtime.main(), "source of a small reduction",
                           GetSource(source));
  }
}

// Its memory is given back before the next one is waited for: in a full store the copies of sources
// that came would keep out those that are still to come (R45).
net::Task<void> Coordinator::GetSource(ObjectId source) {
  const auto self = shared_from_this();
  const auto get = std::make_shared<Call>(context_.runtime.main());
  get->deadline = call_->deadline;
  get->hurries = true;
  gets_.push_back(get);
  Result<store::CopyPtr> got = co_await calls_.Get(source, get);
  std::erase(gets_, get);
  const bool counts = got && reduction_.planner().Fits((*got)->metadata()) &&
                      small_fold_.OnBytes(source, (*got)->bytes(), reduction_.planner().fold());
  if (got) {
    got->reset();
    context_.memory.OnSpace();
  }
  if (!got && got.error().code == ErrorCode::kResourceExhausted) {
    never_fits_ = got.error();
  } else if (!counts) {
    small_fold_.OnFailed(source, Now());  // lost, deleted or put anew meanwhile
  }
  call_->changed.Notify();
}

net::Task<Result<ReduceOutcome>> Coordinator::CreateTarget() {
  creating_ = true;
  for (const CallPtr& get : gets_) get->Cancel();
  const std::vector<std::byte>& sum = small_fold_.sum();
  CO_TRY_ASSIGN(
      const std::shared_ptr<Draft> draft,
      co_await calls_.Create(target_->object, sum.size(), reduction_.planner().metadata(), call_));
  std::ranges::copy(sum, draft->copy()->bytes().begin());
  CO_TRY(draft->Advance(sum.size(), {}));
  CO_TRY(co_await draft->Seal(call_));
  co_return OutcomeOf(small_fold_.folded());
}

}  // namespace hoplite::node

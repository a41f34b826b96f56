#include "node/drain/drainage.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "node/core/object_entry.h"

namespace hoplite::node {
namespace {

// The store is looked through so often, so many copies in one step; seldom when all are gone.
constexpr Duration kPassEvery = std::chrono::milliseconds(50);
constexpr Duration kPassWhenDone = std::chrono::seconds(1);
constexpr std::size_t kCopiesAStep = 64;
constexpr Duration kStatusPatience = std::chrono::seconds(1);

bool IsMaking(const ObjectEntry& entry) {
  return entry.publication() || entry.coordinator() || !entry.slots().empty();
}

void LogLeft(const std::string& name, const DrainOutcome& outcome) {
  log::Info("{}: {} objects were handed on", name, outcome.handed_on);
  if (outcome.left_count == 0) return;
  log::Warn("{}: {} objects were not handed on", name, outcome.left_count);
  for (const LeftObject& left : outcome.left) {
    log::Warn("{}: object {} was not handed on: {}", name, left.id.ToHex(), left.why.message);
  }
}

}  // namespace

Error Drainage::Refusal() const {
  return {ErrorCode::kUnavailable, "node " + context_.settings.name +
                                       " takes no new object, because it is drained: use a client "
                                       "of another node"};
}

net::Task<Result<DrainOutcome>> Drainage::Run(CallPtr call) {
  Begin();
  waiting_.push_back(call);
  bool in_time = true;
  while (!done_ && in_time && !call->cancelled && !context_.table.stopped()) {
    in_time = co_await call->changed.Wait(call->deadline);
  }
  std::erase(waiting_, call);
  if (call->cancelled) {
    co_return std::unexpected(Error(ErrorCode::kCancelled, "waiting for the drain was cancelled"));
  }
  if (context_.table.stopped()) co_return std::unexpected(*context_.table.stopped());
  const DrainOutcome outcome = Outcome();
  LogLeft(context_.settings.name, outcome);
  co_return outcome;
}

void Drainage::Begin() {
  if (std::exchange(begun_, true)) return;
  log::Info("{}: hands its objects on", context_.settings.name);
  context_.runtime.Spawn(context_.runtime.main(), "drain", Work());
}

void Drainage::OnAnswer(const protocol::EvictAnswer& answer) {
  if (!begun_) return;
  state_.OnAnswer(answer, Now());
  changed_.Notify();
}

// What is put or made here until the stop is handed on as well.
net::Task<void> Drainage::Work() {
  while (!context_.table.stopped()) {
    const Time next = Look();
    if (done_) {
      for (const CallPtr& call : waiting_) call->changed.Notify();
    }
    co_await changed_.Wait(next);
  }
  for (const CallPtr& call : waiting_) call->changed.Notify();
}

Time Drainage::Look() {
  const Time now = Now();
  if (now >= next_pass_) {
    ForgetVanished();
    AddCopies();
  }
  const auto is_fed = [this](const ObjectId& object) {
    const EntryPtr entry = context_.table.Find(object);
    return entry && entry->outgoing() > 0;
  };
  const planner::DrainState::Effects effects = state_.Step(now, is_fed);
  for (const protocol::EvictAsk& ask : effects.ask) context_.directory.Send(ask);
  if (effects.look_for_peers) LookForPeers();
  // Without room for more copies the pass goes on when an answer makes some.
  return state_.has_room() ? std::min(effects.next, std::max(next_pass_, now)) : effects.next;
}

// Deleted, or recalled.
void Drainage::ForgetVanished() {
  for (const ObjectId& object : state_.objects()) {
    if (!context_.store.Find(object)) state_.Forget(object);
  }
}

// A pass that finds nothing to wait for is the end.
void Drainage::AddCopies() {
  while (state_.has_room()) {
    const std::vector<store::CopyPtr> next = context_.store.After(reached_, kCopiesAStep);
    if (next.empty()) {
      done_ = all_gone_ && state_.empty() && !MakesSomething();
      reached_.reset();
      all_gone_ = true;
      next_pass_ = Now() + (done_ ? kPassWhenDone : kPassEvery);
      return;
    }
    for (const store::CopyPtr& copy : next) {
      reached_ = copy->object();
      if (copy->state() != store::CopyState::kFinal) continue;
      all_gone_ = false;
      if (Goes(*copy)) {
        state_.Add({copy->object(), copy->version(), copy->layout().size_bytes}, Now());
      }
    }
  }
}

// Not while its flight or its Put has not ended.
bool Drainage::Goes(const store::Copy& copy) {
  const EntryPtr entry = context_.table.Find(copy.object());
  return !entry || (!entry->flight() && !entry->publication());
}

bool Drainage::MakesSomething() const {
  return std::ranges::any_of(context_.table.entries(),
                             [](const auto& item) { return IsMaking(*item.second); });
}

// One shard knows all nodes. Another one is asked next, since this one may be away.
void Drainage::LookForPeers() {
  if (std::exchange(asking_, true)) return;
  const std::size_t shard = shard_++ % context_.directory.shard_count();
  const auto told = [this, alive = std::weak_ptr(alive_)](Result<protocol::StatusPage> page) {
    if (alive.expired()) return;
    asking_ = false;
    if (!page) return;
    std::vector<planner::DrainState::Peer> peers;
    for (const protocol::NodeView& node : page->nodes) {
      if (!node.alive || node.node.id == context_.settings.self) continue;
      const protocol::StoreUsage& usage = node.usage;
      peers.push_back({node.node.id, node.node.name, usage.memory_bytes, usage.used_bytes,
                       usage.disk_bytes - std::min(usage.disk_bytes, usage.disk_used_bytes)});
    }
    state_.OnPeers(std::move(peers), Now());
    changed_.Notify();
  };
  context_.directory.Status(shard, {.after = {}, .limit = 1}, kStatusPatience, told);
}

// What is still made here is left, too, and what its turn has not come for.
DrainOutcome Drainage::Outcome() const {
  DrainOutcome outcome = state_.outcome();
  const auto add = [&outcome](const ObjectId& object, const char* why) {
    ++outcome.left_count;
    if (outcome.left.size() == kMaxLeftObjects) return;
    outcome.left.push_back({object, Error(ErrorCode::kTimeout, why)});
  };
  for (const store::CopyPtr& copy : context_.store.List()) {
    if (copy->state() != store::CopyState::kFinal || state_.knows(copy->object())) continue;
    add(copy->object(), "the deadline came before its turn");
  }
  for (const auto& [object, entry] : context_.table.entries()) {
    if (!IsMaking(*entry) || state_.knows(object)) continue;
    add(object, entry->publication() ? "its put has not ended"
                                     : "the reduction that makes it has not ended");
  }
  return outcome;
}

}  // namespace hoplite::node

// Sessions, the shard and time.
#include "sim/session_world/session_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"

namespace hoplite::sim {
namespace {

template <typename T>
T TakeFirst(std::vector<T>& queue) {
  T first = std::move(queue.front());
  queue.erase(queue.begin());
  return first;
}

bool MayBeLeft(const std::vector<protocol::NodeEvent>& batch) {
  return batch.size() == 1 && (std::holds_alternative<protocol::Owner>(batch.front()) ||
                               std::holds_alternative<protocol::RegisterUse>(batch.front()));
}

// Of an owner's word its number and its bit count.
void AddWord(Digest& digest, const protocol::NodeEvent& word) {
  const auto* owner = std::get_if<protocol::Owner>(&word);
  if (owner == nullptr) return AddTo(digest, word);
  digest.Add(owner->number).Add(owner->own);
}

void AddSession(Digest& digest, const auto& session) {
  digest.Add(session.alive).Add(session.open).Add(session.known).Add(session.told);
  digest.Add(session.open ? Time{} : session.away_since);
  digest.Add(session.told ? Time{} : session.unheard_since);
  for (const auto& batch : session.to_shard) {
    for (const protocol::NodeEvent& event : batch) AddTo(digest, event);
    digest.Add(batch.size());
  }
  digest.Add(session.to_shard.size());
  for (const protocol::NodeAction& action : session.to_node) AddTo(digest, action);
  digest.Add(session.to_node.size());
  for (const protocol::NodeEvent& word : session.left_over) AddWord(digest, word);
}

}  // namespace

std::string ToString(const OrdersResult<SessionStep>& result) {
  std::string text = fmt::format("{} states, {}", result.states,
                                 result.violation.empty() ? "sound" : result.violation);
  for (const SessionStep& step : result.path) text += fmt::format("\n  {} {}", step.name, step.who);
  return text;
}

std::vector<SessionStep> SessionWorld::Steps() const {
  std::vector<SessionStep> steps;
  if (!violation_.empty()) return steps;
  AddOrdinary(steps);
  AddCalls(steps);
  AddFaults(steps);
  return steps;
}

bool SessionWorld::AtRest() const {
  std::vector<SessionStep> steps;
  AddOrdinary(steps);
  return steps.empty();
}

bool SessionWorld::Quiet() const {
  return std::ranges::all_of(sessions_, [](const Session& session) {
    return session.to_shard.empty() && session.to_node.empty();
  });
}

void SessionWorld::Start() {
  shard_ = planner::DirectoryState(directory_, now_);
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    if (sessions_[node].alive) Connect(node);
  }
  Settle();
}

void SessionWorld::Settle() {
  while (!Quiet()) {
    for (std::uint32_t node = 0; node < nodes(); ++node) {
      if (!sessions_[node].to_shard.empty()) ToShard(node);
      if (!sessions_[node].to_node.empty()) ToNode(node);
    }
  }
}

void SessionWorld::AddOrdinary(std::vector<SessionStep>& steps) const {
  using World = SessionWorld;
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    const Session& session = sessions_[i];
    if (!session.to_shard.empty()) steps.push_back({"to shard from", &World::ToShard, i});
    if (!session.to_node.empty()) steps.push_back({"to node", &World::ToNode, i});
    if (!session.left_over.empty()) steps.push_back({"left over of", &World::LeftOver, i});
    if (!session.left_over.empty()) steps.push_back({"rest is lost of", &World::Forget, i});
    if (session.alive && !session.open) steps.push_back({"connects", &World::Connect, i});
  }
  if (next_change_ == kNever || !MayPass(next_change_)) return;
  const bool soon = next_change_ - now_ <= kSlowest;
  if (soon || Quiet()) steps.push_back({"time", &World::TimePasses});
  if (options_.almost && !soon && Quiet()) steps.push_back({"almost", &World::TimeAlmost});
}

void SessionWorld::AddFaults(std::vector<SessionStep>& steps) const {
  using World = SessionWorld;
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    const bool may_die = options_.node_deaths > 0 && i < 2 && sessions_[i].alive;
    if (options_.breaks > 0 && sessions_[i].open) steps.push_back({"breaks", &World::BreakOne, i});
    if (may_die) steps.push_back({"node dies", &World::NodeDies, i});
  }
  if (options_.restarts > 0) steps.push_back({"restarts", &World::Restart});
}

void SessionWorld::Do(const SessionStep& step) {
  (this->*step.take)(step.who);
  next_change_ = NextChange();
  Fail(shard_.BrokenInvariant());
  CheckStep();
  if (violation_.empty() && AtRest()) CheckAtRest();
}

void SessionWorld::Say(std::uint32_t node, protocol::NodeEvent event) {
  if (sessions_[node].open) sessions_[node].to_shard.push_back({std::move(event)});
}

void SessionWorld::ToShard(std::uint32_t node) {
  for (protocol::NodeEvent& event : TakeFirst(sessions_[node].to_shard)) {
    Tell(planner::NodeSaid{IdOf(node), std::move(event)});
  }
  sessions_[node].told = true;  // the first of a session is its inventory
  Plan();
}

void SessionWorld::ToNode(std::uint32_t node) { Hear(node, TakeFirst(sessions_[node].to_node)); }

void SessionWorld::LeftOver(std::uint32_t node) {
  Tell(planner::NodeSaid{IdOf(node), TakeFirst(sessions_[node].left_over)});
  Plan();
}

void SessionWorld::Plan() {
  std::vector<planner::Action> actions;
  plan_at_ = shard_.Plan(now_, actions);
  if (plan_at_ != kNever) plan_at_ = std::max(plan_at_, now_ + Duration{1});
  for (planner::Action& action : actions) {
    Answered(action);
    Session& session = sessions_[Raw(action.to) - 1];
    if (session.open) session.to_node.push_back(std::move(action.body));
  }
}

void SessionWorld::Connect(std::uint32_t node) {
  sessions_[node].open = true;
  Join(node);
  sessions_[node].known = true;
  Plan();
}

void SessionWorld::Break(std::uint32_t node, bool leaves_words) {
  Session& session = sessions_[node];
  for (const auto& batch : session.to_shard) {
    const bool room = session.left_over.size() < options_.most_left_over;
    if (leaves_words && room && MayBeLeft(batch)) session.left_over.push_back(batch.front());
  }
  session.to_shard.clear();
  session.to_node.clear();
  session.open = false;
  session.away_since = now_;
  if (session.told) session.unheard_since = now_;
  session.told = false;
  Ended(node);
  if (!leaves_words) return;
  Tell(planner::NodeSuspended{IdOf(node)});
  Plan();
}

void SessionWorld::Lose(std::uint32_t node) {
  sessions_[node].known = false;
  sessions_[node].left_over.clear();
  Tell(planner::NodeLost{IdOf(node)});
  Plan();
}

void SessionWorld::Restart(std::uint32_t) {
  --options_.restarts;
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    if (sessions_[i].open) Break(i, false);
    sessions_[i].known = false;
    sessions_[i].left_over.clear();
  }
  ++incarnation_;
  directory_.incarnation = options_.old_clock ? 1 : incarnation_;
  directory_.recovery_window = std::chrono::milliseconds(1);
  shard_ = planner::DirectoryState(directory_, now_);
  Plan();
}

void SessionWorld::BreakOne(std::uint32_t node) {
  --options_.breaks;
  Break(node, true);
}

void SessionWorld::NodeDies(std::uint32_t node) {
  --options_.node_deaths;
  if (sessions_[node].open) Break(node, true);
  sessions_[node].alive = false;
  Died(node);
}

bool SessionWorld::Unheard(std::uint32_t node, Duration how_long) const {
  return !sessions_[node].told && now_ - sessions_[node].unheard_since >= how_long;
}

Time SessionWorld::NextOfNodes() const {
  Time next = kNever;
  for (const Session& session : sessions_) next = std::min(next, LostAt(session));
  return next;
}

Time SessionWorld::NextChange() const { return std::min(plan_at_, NextOfNodes()); }

// The shard is called whenever it asks to be.
void SessionWorld::AdvanceTo(Time time) {
  while (now_ < time) {
    now_ = std::max(now_, std::min({time, plan_at_, NextOfNodes()}));
    for (std::uint32_t i = 0; i < nodes(); ++i) {
      if (LostAt(sessions_[i]) <= now_) Lose(i);
    }
    Plan();
    TimePassed();
  }
}

std::uint64_t SessionWorld::Fingerprint() const {
  Digest digest;
  digest.Add(shard_.Fingerprint()).Add(now_).Add(plan_at_).Add(incarnation_);
  digest.Add(options_.breaks).Add(options_.restarts).Add(options_.node_deaths);
  for (const Session& session : sessions_) AddSession(digest, session);
  AddState(digest);
  return digest.value();
}

}  // namespace hoplite::sim

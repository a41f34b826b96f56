#include "directory/directory_service.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process_metrics.h"
#include "base/process_use.h"
#include "directory/away.h"
#include "directory/shard_metrics.h"

namespace hoplite::directory {

namespace {

// How long an ended session may take to deliver its last words.
constexpr Duration kLastWords = std::chrono::seconds(1);

// They take a few milliseconds.
constexpr std::size_t kEventsPerTurn = 1000;

// An owner that this shard does not know, because it restarted, is back within this time, or gone.
planner::DirectoryOptions PlannerOptions(const ServiceOptions& options) {
  planner::DirectoryOptions result = options.planner;
  result.unknown_owners = options.lease + options.grace + result.orphan_grace;
  return result;
}

const char* Because(planner::MoveReason why) {
  switch (why) {
    case planner::MoveReason::kNewcomer:
      return ", for a newcomer";
    case planner::MoveReason::kStarved:
      return ", it starved";
    case planner::MoveReason::kSlow:
      return ", past a slow one";
    case planner::MoveReason::kFaster:
      return ", which gives more";
    case planner::MoveReason::kTrial:
      return ", on trial";
    case planner::MoveReason::kOrder:
      return ", by the ring";
    case planner::MoveReason::kNone:
      break;
  }
  return "";
}

// Aborts the session after a while, whatever becomes of the service.
void AbortLater(ServiceLoop& loop, const SessionPtr& session, Duration delay) {
  loop.After(delay, [session] { session->Abort(); });
}

}  // namespace

DirectoryService::DirectoryService(asio::io_context& loop, const ServiceOptions& options,
                                   Admission admission)
    : DirectoryService(std::make_unique<AsioServiceLoop>(loop), options, std::move(admission)) {}

DirectoryService::DirectoryService(std::unique_ptr<ServiceLoop> loop, const ServiceOptions& options,
                                   Admission admission)
    : loop_(std::move(loop)),
      options_(options),
      admission_(std::move(admission)),
      leases_(options.heartbeat, options.lease, options.grace),
      state_(PlannerOptions(options), Now()) {}

void DirectoryService::Receive(SessionPtr session, wire::NodeMessage message) {
  Push({std::move(session), std::move(message)});
}

void DirectoryService::Fail(SessionPtr session, Error why) {
  Push({std::move(session), std::move(why)});
}

void DirectoryService::Closed(SessionPtr session) {
  session->gone = true;
  Push({std::move(session), std::monostate()});
}

void DirectoryService::Push(Heard heard) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    first = inbox_.empty();
    inbox_.push_back(std::move(heard));
  }
  if (first) loop_->Post([self = shared_from_this()] { self->Turn(); });
}

void DirectoryService::Find(const ObjectId& object,
                            std::function<void(Result<protocol::ObjectView>)> done) {
  loop_->Post(
      [self = shared_from_this(), object, done = std::move(done)] { done(self->Look(object)); });
}

std::optional<Error> DirectoryService::StandsBy() const {
  if (!options_.standing || options_.standing->holds()) return std::nullopt;
  return NotTheHolder(members().holder);
}

protocol::ShardMembers DirectoryService::members() const {
  return options_.standing ? options_.standing->members() : protocol::ShardMembers();
}

std::optional<Error> DirectoryService::Collects() {
  if (auto stands_by = StandsBy()) return stands_by;
  if (state_.collecting()) Turn();
  if (!state_.collecting()) return std::nullopt;
  return StillCollects(state_.CollectsFor(Now()));
}

Result<protocol::ObjectView> DirectoryService::Look(const ObjectId& object) {
  if (auto stands_by = StandsBy()) return std::unexpected(*std::move(stands_by));
  auto collects = Collects();  // first: its turn may end that, and change what is found
  std::optional<protocol::ObjectView> found = state_.Find(object);
  const bool exists = found && (found->inlined || !found->holders.empty());
  auto why = exists ? std::nullopt : state_.WhyAbsent(object, Now());
  if (why) return std::unexpected(*std::move(why));
  if (!exists && collects) return std::unexpected(*std::move(collects));
  if (found) return *std::move(found);
  return std::unexpected(
      Error(ErrorCode::kNotFound,
            fmt::format("object {} is not known to its directory shard", object.ToHex())));
}

void DirectoryService::Status(const protocol::PageRequest& page,
                              std::function<void(protocol::StatusPage)> done) {
  loop_->Post([self = shared_from_this(), page, done = std::move(done)] {
    protocol::StatusPage status{.shard = self->state_.Shard(), .page = self->state_.Objects(page)};
    status.shard.queues = self->Queues();
    status.shard.moves = self->tally_.Moves();
    status.shard.process = OwnProcessUse();
    status.shard.members = self->members();
    if (!page.after) status.nodes = self->state_.Nodes(Now());
    done(std::move(status));
  });
}

protocol::SessionQueuesView DirectoryService::Queues() const {
  protocol::SessionQueuesView queues{.limit_bytes = options_.session_queue_bytes};
  for (const SessionPtr& session : members_.Sessions()) {
    const std::uint64_t waiting = session->outbox.waiting_bytes();
    if (waiting <= queues.most_bytes) continue;
    queues.most_bytes = waiting;
    queues.most_node = members_.NameOf(members_.NodeOf(session));
  }
  return queues;
}

Metrics DirectoryService::MetricsNow() const {
  protocol::ShardView shard = state_.Shard();
  shard.queues = Queues();
  Metrics metrics = MetricsOf(tally_, shard, state_.Nodes(Now()));
  metrics.push_back(GaugeOf("hoplite_directory_collecting",
                            "1 while the shard collects what its nodes hold after its start",
                            state_.collecting() ? 1 : 0));
  metrics.push_back({"hoplite_directory_holds",
                     "1 while this member holds the shard, 0 while it stands by for the holder",
                     MetricKind::kGauge,
                     "holder",
                     {{members().holder, StandsBy() ? 0.0 : 1.0}}});
  std::ranges::move(MetricsOf(OwnProcessUse()), std::back_inserter(metrics));
  return metrics;
}

void DirectoryService::Expire(NodeId node) {
  do Turn();  // what was said before comes first
  while (!waiting_.empty());
  if (!members_.Knows(node) || members_.SessionOf(node)) return;
  leases_.Forget(node);
  Lose(node);
  Turn();
}

void DirectoryService::Shutdown(const Error& why) {
  stopped_ = true;
  loop_->SetAlarm(kNever, nullptr);
  for (const SessionPtr& session : members_.Sessions()) {
    members_.End(session);
    Forget(session);
    Refuse(session, {.error = why});
  }
}

void DirectoryService::Turn() {
  now_ = Now();
  Collect();
  TakeSome(kEventsPerTurn);
  if (stopped_) return;
  CheckLeases();
  EndStalled();
  PlanAndDeliver();
  TellTouched();
  Acknowledge();
  ArmTimer();
  if (!waiting_.empty()) loop_->Post([self = shared_from_this()] { self->Turn(); });
}

void DirectoryService::Collect() {
  std::vector<Heard> inbox;
  {
    const MutexLock lock(mutex_);
    inbox.swap(inbox_);
  }
  for (Heard& heard : inbox) {
    // A message is a sign of life when it comes, not when this service gets to it.
    const NodeId node = members_.NodeOf(heard.session);
    wire::NodeMessage* message = std::get_if<wire::NodeMessage>(&heard.what);
    if (message != nullptr && node != kNoNode) {
      leases_.Heard(node, now_);
      HearAtOnce(heard.session, *message);
    }
    waiting_.push_back(std::move(heard));
  }
}

void DirectoryService::HearAtOnce(const SessionPtr& session, wire::NodeMessage& message) {
  if (message.heartbeat) {
    session->Send({.heartbeat_ack = std::exchange(message.heartbeat, std::nullopt)});
  }
  if (!message.taken) return;
  session->outbox.Taken(*std::exchange(message.taken, std::nullopt), now_);
  Flush(session);
}

void DirectoryService::TakeSome(std::size_t events) {
  while (!waiting_.empty() && Take(waiting_.front(), events)) waiting_.pop_front();
}

bool DirectoryService::Take(Heard& heard, std::size_t& events) {
  if (std::holds_alternative<std::monostate>(heard.what)) {
    Suspend(heard.session, SessionEnd::kClosed);
  } else if (Error* why = std::get_if<Error>(&heard.what)) {
    log::Warn("a session ends: {}", why->ToString());
    // A bad Hello would be as bad at the next try.
    const bool greeted = members_.NodeOf(heard.session) != kNoNode;
    Suspend(heard.session, SessionEnd::kProtocol);
    Refuse(heard.session, {.error = std::move(*why), .retry = greeted});
  } else if (stopped_) {
    Refuse(heard.session, {.error = {ErrorCode::kUnavailable, "this directory shard is stopping"}});
  } else {
    return Handle(heard, std::get<wire::NodeMessage>(heard.what), events);
  }
  return true;
}

bool DirectoryService::Handle(Heard& heard, wire::NodeMessage& message, std::size_t& events) {
  const SessionPtr session = heard.session;
  if (heard.applied == 0) {
    const bool greeted = members_.NodeOf(session) != kNoNode;
    if (message.hello.has_value() == greeted) {
      Suspend(session, SessionEnd::kProtocol);
      Refuse(session,
             {.error = {ErrorCode::kProtocol, greeted ? "Hello came twice in one session"
                                                      : "a session must begin with Hello"}});
      return true;
    }
    if (message.hello) Greet(session, *std::exchange(message.hello, std::nullopt));
  }
  const NodeId node = members_.NodeOf(session);
  if (node == kNoNode) return true;
  HearAtOnce(session, message);  // what came together with its Hello
  if (!message.events.empty()) spoke_.insert(session);
  for (; heard.applied < message.events.size(); ++heard.applied) {
    if (events == 0) return false;
    --events;
    Apply(planner::NodeSaid{node, std::move(message.events[heard.applied])});
  }
  session->Processed();
  if (message.number) {
    session->owed = message.number;
    owing_.insert(session);
  }
  return true;
}

void DirectoryService::Greet(const SessionPtr& session, const wire::Hello& hello) {
  // Its node gave up while the Hello waited for its turn. To let it join and suspend it at once
  // would cost more the more objects it has, and the next Hello would wait as long.
  if (session->gone) return;
  const std::uint64_t known_id = admission_.id();
  if (std::optional<wire::Ended> refusal = admission_.Admit(hello)) {
    // A node that may ask again logs the refusal itself, and asks often.
    log::Write(refusal->retry ? log::Level::kInfo : log::Level::kWarn,
               "refused: " + refusal->error.message);
    ++tally_.refused;
    Record(Decided::kRefused, hello.node.name);
    return Refuse(session, *std::move(refusal));
  }
  if (admission_.id() != known_id) TellId(hello.node);
  // The name of a node whose death is not noticed yet comes free soon: worth another try.
  Result<Members::Joined> joined = members_.Join(hello.node, session);
  if (!joined) {
    ++tally_.refused;
    Record(Decided::kRefused, hello.node.name);
    return Refuse(session, {.error = std::move(joined).error()});
  }

  if (joined->replaced_node != kNoNode) {
    leases_.Forget(joined->replaced_node);
    Apply(planner::NodeLost{joined->replaced_node});
  }
  if (joined->replaced_session) {
    tally_.CountEnd(SessionEnd::kReplaced);
    Record(Decided::kSessionEnded,
           fmt::format("{} {}", Name(SessionEnd::kReplaced), hello.node.name));
    Forget(joined->replaced_session);
    Apply(planner::NodeSuspended{hello.node.id});
    Refuse(joined->replaced_session,
           {.error = {ErrorCode::kCancelled, "the node opened a newer session"}});
  }
  session->outbox = SessionOutbox<protocol::NodeAction>(options_.pace);
  leases_.Opened(hello.node.id, now_);
  Record(Decided::kJoined, hello.node.name);
  log::Info("node {} joined, data plane at {}", hello.node.name, hello.node.address);
  session->Send({.welcome = wire::Welcome{.incarnation = options_.planner.incarnation,
                                          .heartbeat = options_.heartbeat,
                                          .lease = options_.lease,
                                          .tombstone = options_.planner.tombstone,
                                          .orphan_grace = options_.planner.orphan_grace,
                                          .remembered = joined->remembered,
                                          .shard_id = admission_.id(),
                                          .inline_limit_bytes = options_.planner.inline_limit_bytes,
                                          .members = members()}});
  Apply(planner::NodeJoined{hello.node, hello.highest_incarnation, hello.owner_number,
                            hello.register_number});
}

void DirectoryService::TellId(const protocol::NodeInfo& claimant) {
  log::Info("this shard goes by the id {:016x} now, as node {} knows it", admission_.id(),
            claimant.name);
  for (const SessionPtr& session : members_.Sessions()) {
    session->Send({.shard_id = admission_.id()});
  }
}

void DirectoryService::Refuse(const SessionPtr& session, wire::Ended why) {
  session->End(std::move(why));
  AbortLater(*loop_, session, kLastWords);
}

void DirectoryService::Abort(const SessionPtr& session, SessionEnd how) {
  Suspend(session, how);
  session->Abort();
}

// Drops what the node was to be told: its next session begins anew.
void DirectoryService::Forget(const SessionPtr& session) {
  owing_.erase(session);
  asked_.erase(session);
  spoke_.erase(session);
  session->outbox = SessionOutbox<protocol::NodeAction>();
}

void DirectoryService::Suspend(const SessionPtr& session, SessionEnd how) {
  Forget(session);
  const NodeId node = members_.End(session);
  if (node == kNoNode) return;
  tally_.CountEnd(how);
  Record(Decided::kSessionEnded, fmt::format("{} {}", Name(how), members_.NameOf(node)));
  log::Info("node {} is suspended: its session ended", members_.NameOf(node));
  leases_.Ended(node, now_);
  Apply(planner::NodeSuspended{node});
}

void DirectoryService::CheckLeases() {
  for (const LeaseMonitor::Verdict& verdict : leases_.Due(now_)) {
    if (verdict.standing == LeaseMonitor::Standing::kSuspended) {
      log::Info("node {} was not heard for too long", members_.NameOf(verdict.node));
      Abort(members_.SessionOf(verdict.node), SessionEnd::kSilent);
      continue;
    }
    Lose(verdict.node);
  }
}

void DirectoryService::Lose(NodeId node) {
  log::Info("node {} is lost", members_.NameOf(node));
  ++tally_.nodes_lost;
  Record(Decided::kNodeLost, members_.NameOf(node));
  members_.Lose(node);
  Apply(planner::NodeLost{node});
}

void DirectoryService::PlanAndDeliver() {
  std::vector<planner::Action> actions;
  next_plan_ = state_.Plan(now_, actions);
  std::map<NodeId, SessionPtr> told;
  for (planner::Action& action : actions) {
    tally_.Count(action);
    Record(action);
    const auto [entry, first] = told.try_emplace(action.to);
    if (first) entry->second = members_.SessionOf(action.to);
    // A node without a session is told what still holds when it is back and repeats its requests.
    if (entry->second) entry->second->outbox.Push(std::move(action.body));
  }
  // Who spoke knows it already: the others wait for it.
  for (const bool spoke : {false, true}) {
    for (const auto& [node, session] : told) {
      if (session && spoke_.contains(session) == spoke) Flush(session);
    }
  }
  spoke_.clear();
}

// What people want to know afterwards of what a node is told.
void DirectoryService::Record(const planner::Action& action) {
  const auto name = [&] { return members_.NameOf(action.to); };
  if (const auto* grant = std::get_if<protocol::Grant>(&action.body)) {
    Record(grant->replaces ? Decided::kMoves : Decided::kGrants,
           fmt::format("{} <- {}{}", name(), grant->source.name, Because(action.why)),
           grant->object);
  } else if (const auto* recall = std::get_if<protocol::Recall>(&action.body)) {
    Record(Decided::kRecalls, name(), recall->object);
  } else if (const auto* lost = std::get_if<protocol::SlotLost>(&action.body)) {
    Record(Decided::kSlotLost, lost->message, lost->object);
  }
}

void DirectoryService::Record(Decided what, std::string_view text, const ObjectId& object) {
  recorder_.Note(what, object, text, now_);
}

void DirectoryService::TellTouched() {
  for (const ObjectId& object : state_.TakeTouched()) {
    if (touched_) touched_(object);
  }
}

// What may leave of what waits for the node.
void DirectoryService::Flush(const SessionPtr& session) {
  while (auto departure = session->outbox.Next(now_)) {
    session->Send({.actions = std::move(departure->words), .number = departure->number});
    if (departure->number) asked_.insert(session);
  }
}

// A slow reader takes little; one that takes nothing is gone, or might as well be.
void DirectoryService::EndStalled() {
  next_stall_ = kNever;
  for (const SessionPtr& session : SessionSet(asked_)) {
    const Time stalled = session->outbox.StalledAt(options_.lease);
    if (stalled == kNever) {
      asked_.erase(session);
    } else if (stalled > now_) {
      next_stall_ = std::min(next_stall_, stalled);
    } else {
      log::Warn("node {} takes nothing of what it is told; its session ends",
                members_.NameOf(members_.NodeOf(session)));
      Abort(session, SessionEnd::kStalled);
    }
  }
}

// A node that asks faster than it takes the answers is not heard further until it has taken some.
void DirectoryService::Acknowledge() {
  std::erase_if(owing_, [this](const SessionPtr& session) {
    if (session->outbox.waiting_bytes() > options_.session_queue_bytes) return false;
    session->Send({.taken = std::exchange(session->owed, std::nullopt)});
    return true;
  });
}

void DirectoryService::Apply(planner::EventBody body) {
  state_.Apply({now_, std::move(body)});
  next_plan_ = now_;
}

void DirectoryService::ArmTimer() {
  const Time next = std::min({next_plan_, leases_.next(), next_stall_});
  if (next == armed_) return;
  armed_ = next;
  loop_->SetAlarm(next, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->armed_ = kNever;
    self->Turn();
  });
}

}  // namespace hoplite::directory

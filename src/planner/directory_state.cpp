#include "planner/directory_state.h"

#include <algorithm>
#include <utility>

#include "planner/directory_internal.h"

namespace hoplite::planner {

namespace {

void MoveAll(std::set<ObjectId>& from, std::set<ObjectId>& to) {
  if (to.empty()) {
    to.swap(from);
  } else {
    to.merge(from);
  }
}

}  // namespace

const ObjectId* ObjectOf(const NodeEvent& event) {
  return std::visit(
      [](const auto& said) -> const ObjectId* {
        if constexpr (requires { said.object; }) {
          return &said.object;
        } else {
          return nullptr;
        }
      },
      event);
}

const ObjectId& ObjectOf(const NodeAction& action) {
  return std::visit([](const auto& body) -> const ObjectId& { return body.object; }, action);
}

DirectoryState::DirectoryState(const DirectoryOptions& options, Time start)
    : state_(std::make_unique<State>(options, start)) {}
DirectoryState::~DirectoryState() = default;
DirectoryState::DirectoryState(const DirectoryState& other)
    : state_(std::make_unique<State>(*other.state_)) {}
DirectoryState& DirectoryState::operator=(const DirectoryState& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
DirectoryState::DirectoryState(DirectoryState&&) noexcept = default;
DirectoryState& DirectoryState::operator=(DirectoryState&&) noexcept = default;

DirectoryState::State::State(const DirectoryOptions& options_in, Time start)
    : options(options_in),
      now(start),
      collecting_until(start + options_in.recovery_window),
      collecting_limit(start + std::max(options_in.recovery_window, options_in.recovery_limit)),
      collecting(options_in.recovery_window > Duration{0}),
      stamps(options_in.incarnation),
      link(options_in.link) {}

void DirectoryState::Apply(const Event& event) {
  state_->now = std::max(state_->now, event.time);
  struct Visitor {
    State& state;
    void operator()(const NodeJoined& joined) const { state.OnJoined(joined); }
    void operator()(const NodeSuspended& suspended) const { state.OnSuspended(suspended.node); }
    void operator()(const NodeLost& lost) const { state.OnLost(lost.node); }
    void operator()(const NodeSaid& said) const { state.Dispatch(said.node, said.event); }
  };
  std::visit(Visitor{*state_}, event.body);
}

Time DirectoryState::Plan(Time now, std::vector<Action>& actions) {
  State& state = *state_;
  state.Tick(now);
  state.Work();
  std::ranges::move(std::exchange(state.outbox, {}), std::back_inserter(actions));
  return state.NextTime();
}

void DirectoryState::State::Tick(Time time) {
  now = std::max(now, time);
  for (const ObjectId& id : tombstones.Expire(now, options.slice)) marks.erase(id);
  if (!apart.Expire(now).empty()) MoveAll(wants_nearer, dirty);
  if (collecting && now >= CollectingUntil()) collecting = false;
  if (knows_members()) MoveAll(wants_members, dirty);
}

// Who announced itself and still tells its inventory is waited for, within the limit.
Time DirectoryState::State::CollectingUntil() const {
  const std::optional<Time> told = nodes.LastTold();
  if (!told) return collecting_until;
  return std::clamp(*told + options.recovery_window, collecting_until, collecting_limit);
}

void DirectoryState::State::Work() {
  const std::size_t enough = outbox.size() + options.slice;
  for (std::size_t looks = 0; looks < options.slice && outbox.size() < enough; ++looks) {
    if (!dirty.empty()) {
      const ObjectId id = dirty.extract(dirty.begin()).value();
      CatchUp(id);
      Settle(id);
    } else if (!sweeps.empty()) {
      CatchUp(ObjectId(sweeps.next()));
    } else if (!collecting && !deferred.empty()) {
      CatchUp(ObjectId(deferred.begin()->first));
    } else {
      break;
    }
  }
  if (sweeps.empty()) nodes.ForgetDeparted();
}

bool DirectoryState::State::due() const {
  return !dirty.empty() || !sweeps.empty() || (!collecting && !deferred.empty());
}

void DirectoryState::State::CatchUp(const ObjectId& id) {
  if (!sweeps.empty()) {
    for (const Visit& visit : sweeps.Take(id)) Pay(visit, id);
  }
  if (!collecting && !deferred.empty()) SayDeferred(id);
}

void DirectoryState::State::Later(NodeId node, const NodeEvent& event) {
  deferred[*ObjectOf(event)].push_back({node, nodes.Find(node)->session, event});
}

void DirectoryState::State::SayDeferred(const ObjectId& id) {
  const auto said = deferred.extract(id);
  if (said.empty()) return;
  dirty.insert(id);
  for (const Deferred& one : said.mapped()) {
    const NodeRecord* node = nodes.Find(one.node);
    if (node == nullptr || !node->alive || node->session != one.session) continue;
    std::visit([&](const auto& event) { On(one.node, event); }, one.event);
  }
}

Time DirectoryState::State::NextTime() const {
  if (due()) return now;
  Time next = std::min(tombstones.next(), apart.next());
  if (collecting) next = std::min(next, CollectingUntil());
  return next;
}

void DirectoryState::State::Settle(const ObjectId& id) {
  ObjectRecord* record = Find(id);
  if (record == nullptr) return;
  ResolveOpens(id, *record);
  ResolveCreates(id, *record);
  ResolveLocates(id, *record);
  ResolveEvictions(id, *record);
  RunPass(id, *record);
  if (!record->idle()) return record->Rest();
  DropInline(*record);
  for (const NodeId node : record->touched) {
    if (NodeRecord* member = nodes.Find(node)) member->objects.erase(id);
  }
  objects.erase(id);
}

void DirectoryState::State::RunPass(const ObjectId& id, ObjectRecord& record) {
  const bool flows = record.table.parked().empty() && record.table.starved().empty();
  if (flows && !record.slow_relays.OrEmpty().busy()) return;
  const PassRules rules{now, link, apart, knows_members(), options.fault};
  SourceSelector selector(record.table, stamps, rules);
  selector.Run();
  if (record.slow_relays) record.slow_relays->Act(record.table, selector, now);
  for (const Decision& made : selector.decisions()) {
    const NodeRecord* source = nodes.Find(made.what.source);
    Send(made.what.receiver, Grant{id, record.version, made.grant,
                                   source != nullptr ? source->info : NodeInfo{made.what.source},
                                   made.what.stripes, made.what.equality_ok, made.replaces});
    if (made.newly_listed) Notify(id, record, made.what.receiver, LocationKind::kPartial);
  }
  if (!knows_members() && !record.table.parked().empty()) wants_members.insert(id);
  if (!apart.entries().empty()) wants_nearer.insert(id);
}

void DirectoryState::State::Dispatch(NodeId node, const NodeEvent& event) {
  // A session that ended says nothing more; its next one starts with an inventory.
  NodeRecord* member = nodes.Find(node);
  if (member == nullptr || !member->alive) return;
  if (member->inventory_open) member->telling = now;
  if (const ObjectId* id = ObjectOf(event)) {
    CatchUp(*id);
    dirty.insert(*id);
  }
  std::visit([&](const auto& said) { On(node, said); }, event);
}

ObjectRecord* DirectoryState::State::Find(const ObjectId& id) {
  const auto entry = objects.find(id);
  return entry == objects.end() ? nullptr : &entry->second;
}

ObjectRecord& DirectoryState::State::Touch(const ObjectId& id, NodeId node) {
  ObjectRecord& record = objects[id];
  record.touched.insert(node);
  nodes.Find(node)->objects.insert(id);
  return record;
}

void DirectoryState::State::Send(NodeId to, NodeAction body) {
  if (to != swept && nodes.alive(to)) outbox.push_back({to, std::move(body)});
}

void DirectoryState::State::Notify(const ObjectId& id, const ObjectRecord& record, NodeId node,
                                   LocationKind kind) {
  for (const NodeId subscriber : record.waiting().subscribers) {
    Send(subscriber, LocationOf(id, record, node, kind));
  }
}

Location DirectoryState::State::LocationOf(const ObjectId& id, const ObjectRecord& record,
                                           NodeId node, LocationKind kind) const {
  Location location{.object = id, .version = record.version, .node = node, .kind = kind};
  if (node != kNoNode) location.node_name = nodes.NameOf(node);
  if (kind == LocationKind::kGone) return location;
  const Copy* copy = record.table.Find(node);
  location.producing = copy != nullptr && copy->producing;
  location.layout = record.table.layout();
  location.metadata = record.metadata.OrEmpty();
  return location;
}

void DirectoryState::State::TellLost(const ObjectId& id, const ObjectRecord& record) {
  const std::string& lost = record.waiting().lost_holder;
  for (const NodeId node : record.waiting().locates) Send(node, HolderLost{id, lost});
  for (const auto& [node, copy] : record.table.copies()) {
    if (copy.wanted != 0) Send(node, HolderLost{id, lost});
  }
}

void DirectoryState::State::DropCopy(const ObjectId& id, ObjectRecord& record, NodeId node) {
  const Copy* copy = record.table.Find(node);
  if (copy == nullptr) return;
  const bool was_listed = copy->listed;
  const bool was_final = copy->final();
  record.table.Remove(node);
  if (record.waits) record.waits->evictions.erase(node);
  dirty.insert(id);
  if (was_listed) Notify(id, record, node, LocationKind::kGone);
  if (!was_final || record.exists()) return;
  record.waits.Make().lost_holder = nodes.NameOf(node);
  TellLost(id, record);
}

bool DirectoryState::State::AnswerDeleted(const ObjectId& id, NodeId node) {
  const std::optional<Time> until = tombstones.Until(id, now);
  if (until) Send(node, Deleted{id, *until - now, marks.at(id).version});
  return until.has_value();
}

}  // namespace hoplite::planner

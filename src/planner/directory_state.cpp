#include "planner/directory_state.h"

#include <algorithm>
#include <utility>

#include "planner/directory_internal.h"

namespace hoplite::planner {
namespace {

template <typename Part, typename Said>
concept Hears = requires(Part part, NodeId node, Said said) { part.On(node, said); };

// Each word is one part's to hear.
template <typename Said, typename... Parts>
void TellOne(NodeId node, const Said& said, Parts&... parts) {
  static_assert((int{Hears<Parts&, const Said&>} + ...) == 1);
  const auto tell = [&](auto& part) {
    if constexpr (Hears<decltype(part), const Said&>) part.On(node, said);
  };
  (tell(parts), ...);
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

void DirectoryState::Apply(const Event& event) {
  state_->clock.Advance(event.time);
  struct Visitor {
    State& state;
    void operator()(const NodeJoined& joined) const { state.membership.OnJoined(joined); }
    void operator()(const NodeSuspended& suspended) const {
      state.membership.OnSuspended(suspended.node);
    }
    void operator()(const NodeLost& lost) const { state.membership.OnLost(lost.node); }
    void operator()(const NodeSaid& said) const { state.Dispatch(said.node, said.event); }
  };
  std::visit(Visitor{*state_}, event.body);
}

Time DirectoryState::Plan(Time now, std::vector<Action>& actions) {
  State& state = *state_;
  state.Tick(now);
  state.Work();
  std::ranges::move(state.outbox.Take(), std::back_inserter(actions));
  return state.NextTime();
}

void DirectoryState::State::Tick(Time time) {
  clock.Advance(time);
  marks.Expire(clock.now(), options.slice);
  if (!apart.Expire(clock.now()).empty()) agenda.SomeMayMeetAgain();
  window.EndIfDue(clock.now(), nodes);
  if (window.KnowsMembers(nodes)) agenda.MembersAreKnown();
}

void DirectoryState::State::Work() {
  const std::size_t enough = outbox.size() + options.slice;
  for (std::size_t looks = 0; looks < options.slice && outbox.size() < enough; ++looks) {
    if (!agenda.empty()) {
      const ObjectId id = agenda.Take();
      CatchUp(id);
      Settle(id);
    } else if (!sweeps.empty()) {
      CatchUp(ObjectId(sweeps.next()));
    } else if (window.due()) {
      CatchUp(ObjectId(window.next()));
    } else {
      break;
    }
  }
  if (sweeps.empty()) nodes.ForgetDeparted();
}

bool DirectoryState::State::due() const {
  return !agenda.empty() || !sweeps.empty() || window.due();
}

void DirectoryState::State::CatchUp(const ObjectId& id) {
  if (!sweeps.empty()) {
    for (const Visit& visit : sweeps.Take(id)) visits.Pay(visit, id);
  }
  if (window.due()) SayDeferred(id);
}

void DirectoryState::State::SayDeferred(const ObjectId& id) {
  const auto said = window.Take(id);
  if (!said) return;
  agenda.Add(id);
  for (const Deferred& one : *said) Say(one.node, one.event);
}

Time DirectoryState::State::NextTime() const {
  if (due()) return clock.now();
  Time next = std::min(marks.next(), apart.next());
  if (window.collecting()) next = std::min(next, window.End(nodes));
  return next;
}

void DirectoryState::State::Settle(const ObjectId& id) {
  ObjectRecord* record = objects.Find(id);
  if (record == nullptr) return;
  requests.ResolveOpens(id, *record);
  creation.ResolveCreates(id, *record);
  lookups.ResolveLocates(id, *record);
  eviction.ResolveEvictions(id, *record);
  passes.Run(id, *record);
  if (!record->idle()) return record->Rest();
  versions.DropBytes(*record);
  objects.Erase(id);
}

void DirectoryState::State::Say(NodeId node, const NodeEvent& event) {
  std::visit(
      [&](const auto& said) {
        TellOne(node, said, creation, lookups, transfers, deletion, eviction, requests, reports,
                recovery, membership);
      },
      event);
}

void DirectoryState::State::Dispatch(NodeId node, const NodeEvent& event) {
  // A session that ended says nothing more; its next one starts with an inventory.
  NodeRecord* member = nodes.Find(node);
  if (member == nullptr || !member->alive) return;
  if (member->inventory_open) member->telling = clock.now();
  if (const ObjectId* id = ObjectOf(event)) {
    CatchUp(*id);
    agenda.Add(*id);
  }
  Say(node, event);
}

}  // namespace hoplite::planner

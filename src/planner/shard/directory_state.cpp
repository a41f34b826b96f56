#include "planner/shard/directory_state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/shard/directory_internal.h"

namespace hoplite::planner {
namespace {

template <typename Part, typename Said>
concept Hears = requires(Part part, NodeId node, Said said) { part.On(node, said); };

// To fold so many bytes takes about as long as to look at an object.
constexpr std::uint64_t kFoldedPerLook = 1024;

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

void DirectoryState::Apply(const Event& event) { state_->Apply(event); }

std::uint64_t DirectoryState::changes() const { return state_->changes(); }

void DirectoryState::Watch(const ObjectId& object) { state_->watched().insert(object); }
void DirectoryState::Unwatch(const ObjectId& object) { state_->watched().erase(object); }
std::vector<ObjectId> DirectoryState::TakeTouched() { return state_->TakeTouched(); }

Time DirectoryState::Plan(Time now, std::vector<Action>& actions) {
  return state_->Plan(now, actions);
}

// --- what is told

void DirectoryState::State::Apply(const Event& event) {
  ++changes_;
  books_.clock.Advance(event.time);
  struct Visitor {
    State& state;
    void operator()(const NodeJoined& joined) const { state.membership_.OnJoined(joined); }
    void operator()(const NodeSuspended& suspended) const {
      state.membership_.OnSuspended(suspended.node);
    }
    void operator()(const NodeLost& lost) const { state.membership_.OnLost(lost.node); }
    void operator()(const NodeSaid& said) const { state.Hear(said.node, said.event); }
  };
  std::visit(Visitor{*this}, event.body);
}

void DirectoryState::State::Hear(NodeId node, const NodeEvent& event) {
  // A session that ended says nothing more; its next one starts with an inventory.
  if (!books_.nodes.alive(node)) return;
  books_.nodes.NoteHeard(node, books_.clock.now());
  if (const ObjectId* id = ObjectOf(event)) {
    CatchUp(*id);
    books_.agenda.Add(*id);
    if (!std::holds_alternative<Progress>(event)) LookAgain(*id);
  }
  Say(node, event);
}

void DirectoryState::State::Say(NodeId node, const NodeEvent& event) {
  std::visit(
      [&](const auto& said) {
        TellOne(node, said, creation_, lookups_, transfers_, deletion_, eviction_, requests_,
                reports_, recovery_, membership_, ownership_, registers_);
      },
      event);
}

void DirectoryState::State::CatchUp(const ObjectId& id) {
  if (!books_.sweeps.empty()) {
    for (const Visit& visit : books_.sweeps.Take(id)) {
      visits_.Pay(visit, id);
      LookAgain(id);
    }
  }
  if (books_.window.due()) SayDeferred(id);
}

// Whoever found nobody may find somebody now.
void DirectoryState::State::LookAgain(const ObjectId& id) {
  ObjectRecord* record = books_.objects.Find(id);
  if (record != nullptr && record->samples) record->samples->in_vain_until = {};
}

void DirectoryState::State::SayDeferred(const ObjectId& id) {
  const auto said = books_.window.Take(id);
  if (!said) return;
  books_.agenda.Add(id);
  for (const Deferred& one : *said) Say(one.node, one.event);
}

// --- what is answered

Time DirectoryState::State::Plan(Time now, std::vector<Action>& actions) {
  Tick(now);
  Work();
  std::ranges::move(books_.outbox.Take(), std::back_inserter(actions));
  return NextTime();
}

void DirectoryState::State::Tick(Time time) {
  books_.clock.Advance(time);
  const Time now = books_.clock.now();
  if (books_.tombstones.next() <= now) ++changes_;
  books_.tombstones.Expire(now, books_.options.slice);
  if (books_.ended.next() <= now) ++changes_;
  books_.ended.Expire(now, books_.options.slice);
  if (!books_.apart.Expire(now).empty()) {
    ++changes_;
    books_.agenda.SomeMayMeetAgain();
  }
  ForgetLosses();
  for (Expiring<ObjectId>* const waiting : {&books_.gathering, &books_.giving}) {
    for (const ObjectId& id : waiting->Expire(now, books_.options.slice)) {
      ++changes_;
      books_.agenda.Add(id);
    }
  }
  books_.window.EndIfDue(now, books_.nodes);
  ownership_.Tick(now, books_.options.slice);
  if (books_.window.KnowsMembers(books_.nodes)) books_.agenda.MembersAreKnown();
}

void DirectoryState::State::Work() {
  const std::size_t slice = books_.options.slice;
  const std::size_t enough = books_.outbox.size() + slice;
  for (std::size_t looks = 0; due() && looks < slice && books_.outbox.size() < enough; ++looks) {
    ++changes_;
    if (registers_.due()) {
      registers_.Run();
    } else if (!books_.agenda.empty()) {
      const ObjectId id = books_.agenda.Take();
      CatchUp(id);
      Settle(id);
      if (watched_.contains(id)) touched_.push_back(id);
      looks += folds_.TakeFolded() / kFoldedPerLook;
    } else if (!books_.sweeps.empty()) {
      CatchUp(ObjectId(books_.sweeps.next()));
    } else {
      CatchUp(ObjectId(books_.window.next()));
    }
  }
  if (books_.sweeps.empty()) books_.nodes.ForgetDeparted();
}

void DirectoryState::State::Settle(const ObjectId& id) {
  ObjectRecord* record = books_.objects.Find(id);
  if (record == nullptr) return;
  requests_.ResolveOpens(id, *record);
  reports_.ResolveCommit(id, *record);
  creation_.ResolveCreates(id, *record);
  if (ownership_.Ends(id, *record)) {
    deletion_.EndUnowned(id);
    creation_.ResolveCreates(id, *record);
  }
  lookups_.ResolveLocates(id, *record);
  transfers_.HelpVainWants(id, *record);
  if (ownership_.Disappoints(id, *record)) lookups_.AnswerUnowned(id, *record);
  eviction_.ResolveEvictions(id, *record);
  passes_.Run(id, *record);
  transfers_.HelpBlocked(id, *record);
  if (!record->idle() || books_.owners.Knows(id) || RemembersLoss(id, *record)) {
    return record->Rest();
  }
  versions_.DropKept(*record);
  books_.objects.Erase(id);
}

bool DirectoryState::State::RemembersLoss(const ObjectId& id, const ObjectRecord& record) {
  if (record.waiting().loss.empty()) return false;
  const Time now = books_.clock.now();
  if (!books_.losses.Contains(id, now)) books_.losses.Insert(id, now + books_.options.tombstone);
  return true;
}

void DirectoryState::State::ForgetLosses() {
  for (const ObjectId& id : books_.losses.Expire(books_.clock.now(), books_.options.slice)) {
    ++changes_;
    ObjectRecord* record = books_.objects.Find(id);
    if (record == nullptr || !record->idle() || !record->waits) continue;
    record->waits->loss = {};
    books_.agenda.Add(id);
  }
}

bool DirectoryState::State::due() const {
  return registers_.due() || !books_.agenda.empty() || !books_.sweeps.empty() ||
         books_.window.due();
}

Time DirectoryState::State::NextTime() {
  if (due()) return books_.clock.now();
  Time next = std::min({books_.tombstones.next(), books_.ended.next(), books_.losses.next(),
                        books_.apart.next(), books_.gathering.next(), books_.giving.next(),
                        ownership_.Next(), registers_.Next()});
  if (books_.window.collecting()) next = std::min(next, books_.window.End(books_.nodes));
  return next;
}

}  // namespace hoplite::planner

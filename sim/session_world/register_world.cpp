// What clients of a register may do; nodes and their sessions.
#include "sim/session_world/register_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

using Outcome = planner::RegisterState::Outcome;

constexpr std::uint64_t kOtherNumber = 1000;  // of a call that goes by a new one

}  // namespace

OrdersResult<SessionStep> SearchRegisters(const RegisterOptions& options,
                                          std::uint64_t most_states) {
  return EveryOrder<SessionStep>(RegisterWorld(options), most_states, SessionWorld::kLongestPath);
}

RegisterWorld::RegisterWorld(const RegisterOptions& options)
    : SessionWorld({.nodes = 3,
                    .breaks = options.breaks,
                    .restarts = options.restarts,
                    .node_deaths = options.node_deaths,
                    .old_clock = options.fault == RegisterFault::kOldClock}),
      options_(options),
      name_(ObjectId::FromName("register")) {
  if (Faulty(RegisterFault::kAnswersAtOnce)) directory_.unknown_owners = kOrphanGrace;
  sessions_[kR].alive = Takes(kR);
  Start();
  for (std::uint32_t client = 0; client < kClients; ++client) {
    clients_[client].left = Publishes(client) ? options_.writes[client] : options_.reads;
    clients_[client].claims_left = client == kB ? options_.claims : 0;
    if (Takes(client)) Open(client);
  }
  Settle();
  Write(kA, true);
  Settle();
  if (options_.start == RegisterStart::kWithoutA) {
    Break(0, true);
    AdvanceTo(LostAt(sessions_[0]));
  }
  if (options_.start != RegisterStart::kClaimedByA) {
    Write(kB, true);
    Settle();
  }
  next_change_ = NextChange();
}

bool RegisterWorld::Takes(std::uint32_t client) const {
  if (client == kBesideA) return options_.second_reader;
  return client != kR || options_.reads + options_.overs > 0;
}

void RegisterWorld::AddCalls(std::vector<SessionStep>& steps) const {
  using World = RegisterWorld;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client& client = clients_[i];
    if (!sessions_[NodeOf(i)].alive || client.state == State::kClosed) continue;
    const bool idle = client.state == State::kIdle;
    const bool writes = client.state == State::kWriter && client.left > 0;
    const bool writes_over = i == kR && idle && options_.overs > 0;
    const bool reads = !Publishes(i) && idle && client.left > 0;
    const bool gives_up = client.state == State::kWrites && options_.given_up > 0;
    if (writes) steps.push_back({"writes", &World::WriteNext, i});
    if (idle && client.claims_left > 0) steps.push_back({"claims", &World::Claim, i});
    if (gives_up) steps.push_back({"gives up", &World::GiveUp, i});
    if (reads) steps.push_back({"reads", &World::Read, i});
    if (writes_over) steps.push_back({"writes over", &World::WriteNext, i});
    // Whoever can do something more does not close, but for B, who may never claim it.
    const bool over = !Waits(client.state) && !reads && !writes_over && !writes;
    if (over) steps.push_back({"closes", &World::Close, i});
  }
}

void RegisterWorld::Claim(std::uint32_t client) {
  --clients_[client].claims_left;
  Write(client, true);
}

void RegisterWorld::Open(std::uint32_t client) {
  clients_[client].state = State::kIdle;
  planner::RegisterState::Effects effects;
  nodes_[NodeOf(client)].registers.Open(client, name_, effects);
  Effect(NodeOf(client), effects);
}

std::string RegisterWorld::ValueOf(std::uint32_t client, std::uint32_t written) {
  return fmt::format("{}{}", "ABR"[client], written);
}

// Values tell whose they are: of A, of B or of who writes over these, and which.
void RegisterWorld::Write(std::uint32_t index, bool claims) {
  Client& client = clients_[index];
  client.state = claims ? State::kClaims : State::kWrites;
  ++client.written;
  if (index == kR) --options_.overs;
  const Version known = nodes_[NodeOf(index)].registers.Known(name_)->version;
  const bool by_node = claims || index == kR || Faulty(RegisterFault::kNumberOfNode);
  planner::RegisterState::Effects effects;
  nodes_[NodeOf(index)].registers.Write(index, name_, ++client.ticket * kClients + index,
                                        {.expected = by_node ? known : client.base,
                                         .value = ValueOf(index, client.written),
                                         .claims = claims},
                                        effects);
  Effect(NodeOf(index), effects);
}

void RegisterWorld::GiveUp(std::uint32_t index) {
  --options_.given_up;
  Client& client = clients_[index];
  client.state = State::kWriter;
  client.gave_up = true;
  planner::RegisterState::Effects effects;
  nodes_[NodeOf(index)].registers.GiveUp(name_, client.ticket * kClients + index, effects);
  Effect(NodeOf(index), effects);
}

void RegisterWorld::Read(std::uint32_t index) {
  Client& client = clients_[index];
  --client.left;
  client.state = State::kWaits;
  client.floor = acknowledged_;
  client.promised_then = {clients_[kA].promised, clients_[kB].promised};
  planner::RegisterState& registers = nodes_[NodeOf(index)].registers;
  const planner::RegisterState::Ticket ticket = ++client.ticket * kClients + index;
  planner::RegisterState::Effects effects;
  if (index == kBesideA) {
    registers.Get(index, name_, ticket, effects);
  } else {
    registers.Changed(index, name_, ticket, client.base, false, effects);
  }
  Effect(NodeOf(index), effects);
}

void RegisterWorld::Close(std::uint32_t index) {
  Client& client = clients_[index];
  client.state = State::kClosed;
  client.promised = false;
  planner::RegisterState::Effects effects;
  nodes_[NodeOf(index)].registers.Close(index, name_, effects);
  Effect(NodeOf(index), effects);
}

void RegisterWorld::HearAnswer(std::uint32_t index,
                               const planner::RegisterState::Answered& answered) {
  Client& client = clients_[index];
  const bool awaited = Waits(client.state) && answered.ticket / kClients == client.ticket;
  if (!awaited) return Fail(fmt::format("client {} is answered what it did not ask", index));
  if (client.state != State::kWaits) return HearOfWrite(index, answered);
  CheckRead(index, answered);
  client.base = answered.entry.version;
  acknowledged_ = std::max(acknowledged_, client.base);
  client.state = answered.outcome == Outcome::kNoWriter ? State::kEnded : State::kIdle;
}

// Who finds the number of a write that he gave up goes on from there; whom somebody followed closes.
void RegisterWorld::HearOfWrite(std::uint32_t index,
                                const planner::RegisterState::Answered& answered) {
  Client& client = clients_[index];
  const bool claimed = client.state == State::kClaims;
  const bool own = answered.entry.value.starts_with(ValueOf(index, 0).front());
  if (answered.outcome != Outcome::kWritten && !client.gave_up && WasDone(index)) {
    Fail("safety: a write is refused that was done");
  }
  if (index == kR) {
    client.base = answered.entry.version;
    client.state = State::kIdle;
    return;
  }
  if (answered.outcome == Outcome::kWritten) {
    const bool late = index == kA && !claimed && clients_[kB].promised;
    if (late) Fail("safety: A hears that its write was done, and B that it is the writer");
    if (!claimed) --client.left;
    client.state = State::kWriter;
    client.base = answered.entry.version;
    client.promised = client.promised || claimed;
    acknowledged_ = std::max(acknowledged_, answered.entry.version);
    return;
  }
  if (own && !client.gave_up) Fail("safety: a write is refused, and the register holds it");
  if (own && !claimed) {
    client.state = State::kWriter;
    client.base = answered.entry.version;
    client.gave_up = false;
    return;
  }
  if (claimed) {
    client.state = State::kIdle;
    return;
  }
  if (index == kA && !b_claimed_ && clients_[kR].written == 0)
    Fail("safety: A's write is refused, and nobody else has claimed");
  Close(index);
}

void RegisterWorld::Tell(planner::EventBody event) {
  auto* said = std::get_if<planner::NodeSaid>(&event);
  auto* use = said != nullptr ? std::get_if<protocol::RegisterUse>(&said->event) : nullptr;
  const bool writes = use != nullptr && use->call && use->call->write;
  if (writes && Faulty(RegisterFault::kAnyNumber)) {
    const auto known = shard_.Register(name_);
    if (known) use->call->write->expected = known->entry.version;
  }
  const auto* lost = std::get_if<planner::NodeLost>(&event);
  if (lost != nullptr) nodes_[Raw(lost->node) - 1].lost = true;
  shard_.Apply({now_, event});
}

void RegisterWorld::Answered(planner::Action& action) {
  auto& news = std::get<protocol::RegisterNews>(action.body);
  NoteWrite(news.entry);
  const bool claimed = action.to == news.entry.attempt.node;
  if (claimed && news.call == 0 && Faulty(RegisterFault::kClaimsUnheard)) {
    news.outcome = protocol::RegisterOutcome::kWritten;
    news.call = news.entry.attempt.number;
  }
  const bool over = shard_.Register(name_)->entry.version > news.entry.version;
  if (over && news.outcome == protocol::RegisterOutcome::kWritten &&
      Faulty(RegisterFault::kRefusesDone)) {
    news.outcome = protocol::RegisterOutcome::kConflict;
  }
}

void RegisterWorld::Join(std::uint32_t index) {
  Node& node = nodes_[index];
  const protocol::RegisterContents* known = node.registers.Known(name_);
  const bool tells = known != nullptr && !Faulty(RegisterFault::kTellsNothing) &&
                     !Faulty(RegisterFault::kOldClock);
  Tell(planner::NodeJoined{
      .node = InfoOf(index),
      .highest_incarnation = tells ? known->version.incarnation : 0,
      .register_number = Faulty(RegisterFault::kNoFloor) ? 0 : node.registers.number()});
  ++node.session;
  node.registers.SessionOpened();
  sessions_[index].to_shard.push_back(InventoryOf(node));
}

std::vector<protocol::NodeEvent> RegisterWorld::InventoryOf(Node& node) const {
  std::vector<protocol::NodeEvent> events;
  if (auto use = node.registers.Inventory(name_)) {
    if (Faulty(RegisterFault::kTellsNothing)) use->knows = protocol::RegisterContents{};
    if (Faulty(RegisterFault::kNoClaims)) use->claim = {};
    if (Faulty(RegisterFault::kNoCalls)) use->call.reset();
    if (Faulty(RegisterFault::kNewAttempts) && use->call) {
      use->call->number += kOtherNumber * node.session;
    }
    events.emplace_back(std::move(*use));
  }
  if (!Faulty(RegisterFault::kNeverEnds)) events.emplace_back(protocol::InventoryEnd{});
  return events;
}

void RegisterWorld::Hear(std::uint32_t index, const protocol::NodeAction& action) {
  auto news = std::get<protocol::RegisterNews>(action);
  if (Faulty(RegisterFault::kNewAttempts)) news.call %= kOtherNumber;
  nodes_[index].heard = news;
  HearNews(index, news);
}

void RegisterWorld::HearNews(std::uint32_t node, const protocol::RegisterNews& news) {
  planner::RegisterState::Effects effects;
  nodes_[node].registers.Hear(news, effects);
  Effect(node, effects);
}

void RegisterWorld::Effect(std::uint32_t node, const planner::RegisterState::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) {
    Say(node, event);
    if (Faulty(RegisterFault::kGoneUnasked)) AnswerFromMemory(node, event);
  }
  for (const planner::RegisterState::Answered& answered : effects.answer) {
    HearAnswer(static_cast<std::uint32_t>(answered.ticket % kClients), answered);
  }
}

// What a reader's node was told last is taken for the answer to what it asks now.
void RegisterWorld::AnswerFromMemory(std::uint32_t index, const protocol::NodeEvent& event) {
  const auto& use = std::get<protocol::RegisterUse>(event);
  if (!use.call || use.call->write || !nodes_[index].heard) return;
  protocol::RegisterNews news = *nodes_[index].heard;
  news.outcome = protocol::RegisterOutcome::kRead;
  news.call = use.call->number;
  HearNews(index, news);
}

void RegisterWorld::Died(std::uint32_t node) {
  nodes_[node].registers = {};
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (NodeOf(i) != node) continue;
    clients_[i].state = State::kClosed;
    clients_[i].promised = false;
  }
}

void RegisterWorld::AddState(Digest& digest) const {
  digest.Add(acknowledged_).Add(b_claimed_).Add(options_.given_up).Add(options_.overs);
  for (const auto& [version, value] : values_) digest.Add(version).Add(value);
  for (const Node& node : nodes_) {
    node.registers.AddTo(digest);
    digest.Add(node.lost);
    if (node.heard && Faulty(RegisterFault::kGoneUnasked)) digest.Add(node.heard->writer);
  }
  for (const Client& client : clients_) {
    digest.Add(client.state).Add(client.base).Add(client.left).Add(client.claims_left);
    digest.Add(client.written).Add(client.ticket).Add(client.promised).Add(client.gave_up);
    digest.Add(client.floor).Add(client.promised_then[0]).Add(client.promised_then[1]);
  }
}

}  // namespace hoplite::sim

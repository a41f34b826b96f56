// What may happen, and what nodes and clients do.
#include "sim/register_world/register_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"

namespace hoplite::sim {
namespace {

constexpr std::size_t kLongestHistory = 300;
constexpr Duration kSlowest = std::chrono::seconds(1);  // no message takes longer

using Outcome = planner::RegisterState::Outcome;

}  // namespace

std::string ToString(const RegisterStep& step) {
  static constexpr const char* kNames[] = {"the shard hears node",
                                           "node hears the shard:",
                                           "the shard reads what is left of node",
                                           "the rest is lost of node",
                                           "connects: node",
                                           "time",
                                           "writes: client",
                                           "claims: client",
                                           "gives up: client",
                                           "reads: client",
                                           "closes: client",
                                           "breaks: session of node",
                                           "restarts: shard",
                                           "dies: node"};
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(step.kind)], step.who);
}

OrdersResult<RegisterStep> SearchRegisters(const RegisterOptions& options,
                                           std::uint64_t most_states) {
  return EveryOrder<RegisterStep>(RegisterWorld(options), most_states, kLongestHistory);
}

std::string ToString(const OrdersResult<RegisterStep>& result) {
  std::string text = fmt::format("{} states, {}", result.states,
                                 result.violation.empty() ? "sound" : result.violation);
  for (const RegisterStep& step : result.path) text += "\n  " + ToString(step);
  return text;
}

RegisterWorld::RegisterWorld(const RegisterOptions& options)
    : options_(options),
      name_(ObjectId::FromName("register")),
      shard_(DirectoryOptionsOf(1, false), now_) {
  for (std::uint32_t node = 0; node < nodes(); ++node) Connect(node);
  nodes_[kR].alive = nodes_[kR].open;
  Settle();
  for (std::uint32_t client = 0; client < kClients; ++client) {
    clients_[client].left = Publishes(client) ? options_.writes[client] : options_.reads;
    clients_[client].claims_left = client == kB ? options_.claims : 0;
    if (Takes(client)) Open(client);
  }
  Settle();
  Write(kA, true);
  Settle();
  if (options_.start == RegisterStart::kClaimedByA) return;
  if (options_.start == RegisterStart::kWithoutA) {
    Break(0, true);
    AdvanceTo(LostAt(nodes_[0]));
  }
  Write(kB, true);
  Settle();
}

bool RegisterWorld::Takes(std::uint32_t client) const {
  if (client == kBesideA) return options_.second_reader;
  return client != kR || nodes() == kNodes;
}

void RegisterWorld::Settle() {
  while (!Quiet()) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (!nodes_[node].to_shard.empty()) ToShard(node);
      if (!nodes_[node].to_node.empty()) ToNode(node);
    }
  }
}

std::vector<RegisterStep> RegisterWorld::Steps() const {
  std::vector<RegisterStep> steps;
  if (!violation_.empty()) return steps;
  AddOrdinary(steps);
  AddCalls(steps);
  AddFaults(steps);
  return steps;
}

bool RegisterWorld::AtRest() const {
  std::vector<RegisterStep> steps;
  AddOrdinary(steps);
  return steps.empty();
}

bool RegisterWorld::Quiet() const {
  return std::ranges::all_of(
      nodes_, [](const Node& node) { return node.to_shard.empty() && node.to_node.empty(); });
}

void RegisterWorld::AddOrdinary(std::vector<RegisterStep>& steps) const {
  using Kind = RegisterStep::Kind;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const Node& node = nodes_[i];
    if (!node.to_shard.empty()) steps.push_back({Kind::kToShard, i});
    if (!node.to_node.empty()) steps.push_back({Kind::kToNode, i});
    if (!node.left_over.empty()) steps.push_back({Kind::kLeftOver, i});
    if (!node.left_over.empty()) steps.push_back({Kind::kForgotten, i});
    if (node.alive && !node.open) steps.push_back({Kind::kConnect, i});
  }
  const Time next = NextChange();
  if (next != kNever && (Quiet() || next - now_ <= kSlowest)) steps.push_back({Kind::kTime});
}

void RegisterWorld::AddCalls(std::vector<RegisterStep>& steps) const {
  using Kind = RegisterStep::Kind;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client& client = clients_[i];
    if (!nodes_[NodeOf(i)].alive || client.state == State::kClosed) continue;
    if (client.state == State::kWriter && client.left > 0) steps.push_back({Kind::kWrite, i});
    if (client.state == State::kIdle && client.claims_left > 0) {
      steps.push_back({Kind::kClaim, i});
    }
    if (client.state == State::kWrites && options_.given_up > 0) {
      steps.push_back({Kind::kGiveUp, i});
    }
    const bool reads = !Publishes(i) && client.state == State::kIdle && client.left > 0;
    if (reads) steps.push_back({Kind::kRead, i});
    const bool writes_over = i == kR && client.state == State::kIdle && options_.overs > 0;
    if (writes_over) steps.push_back({Kind::kWrite, i});
    // Whoever can do something more does not close, but for B, who may never claim it.
    const bool over =
        !reads && !writes_over && (client.state != State::kWriter || client.left == 0);
    if (!Waits(client.state) && over) steps.push_back({Kind::kClose, i});
  }
}

void RegisterWorld::AddFaults(std::vector<RegisterStep>& steps) const {
  using Kind = RegisterStep::Kind;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (options_.breaks > 0 && nodes_[i].open) steps.push_back({Kind::kBreak, i});
    if (options_.node_deaths > 0 && nodes_[i].alive && i != kR) {
      steps.push_back({Kind::kNodeDies, i});
    }
  }
  if (options_.restarts > 0) steps.push_back({Kind::kRestart});
}

void RegisterWorld::Do(const RegisterStep& step) {
  using Kind = RegisterStep::Kind;
  switch (step.kind) {
    case Kind::kToShard:
      ToShard(step.who);
      break;
    case Kind::kToNode:
      ToNode(step.who);
      break;
    case Kind::kLeftOver:
      LeftOver(step.who);
      break;
    case Kind::kForgotten:
      nodes_[step.who].left_over.clear();
      break;
    case Kind::kConnect:
      Connect(step.who);
      break;
    case Kind::kTime:
      AdvanceTo(NextChange());
      break;
    case Kind::kWrite:
      Write(step.who, false);
      break;
    case Kind::kClaim:
      --clients_[step.who].claims_left;
      Write(step.who, true);
      break;
    case Kind::kGiveUp:
      GiveUp(step.who);
      break;
    case Kind::kRead:
      Read(step.who);
      break;
    case Kind::kClose:
      Close(step.who);
      break;
    case Kind::kBreak:
      --options_.breaks;
      Break(step.who, true);
      break;
    case Kind::kRestart:
      Restart();
      break;
    case Kind::kNodeDies:
      NodeDies(step.who);
      break;
  }
  Check();
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

void RegisterWorld::Effect(std::uint32_t node, const planner::RegisterState::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) {
    Say(node, event);
    if (Faulty(RegisterFault::kGoneUnasked)) AnswerFromMemory(node, event);
  }
  for (const planner::RegisterState::Answered& answered : effects.answer) {
    Hear(static_cast<std::uint32_t>(answered.ticket % kClients), answered);
  }
}

void RegisterWorld::Hear(std::uint32_t index, const planner::RegisterState::Answered& answered) {
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

void RegisterWorld::Say(std::uint32_t node, protocol::NodeEvent event) {
  if (nodes_[node].open) {
    nodes_[node].to_shard.push_back({planner::NodeSaid{IdOf(node), std::move(event)}});
  }
}

void RegisterWorld::ToNode(std::uint32_t index) {
  Node& node = nodes_[index];
  auto news = std::get<protocol::RegisterNews>(std::move(node.to_node.front()));
  node.to_node.erase(node.to_node.begin());
  if (Faulty(RegisterFault::kNewAttempts)) news.call %= 1000;
  node.heard = news;
  planner::RegisterState::Effects effects;
  node.registers.Hear(news, effects);
  Effect(index, effects);
}

// What a reader's node was told last is taken for the answer to what it asks now.
void RegisterWorld::AnswerFromMemory(std::uint32_t index, const protocol::NodeEvent& event) {
  const auto& use = std::get<protocol::RegisterUse>(event);
  Node& node = nodes_[index];
  if (!use.call || use.call->write || !node.heard) return;
  protocol::RegisterNews news = *node.heard;
  news.outcome = protocol::RegisterOutcome::kRead;
  news.call = use.call->number;
  planner::RegisterState::Effects effects;
  node.registers.Hear(news, effects);
  Effect(index, effects);
}

std::uint64_t RegisterWorld::Fingerprint() const {
  Digest digest;
  digest.Add(shard_.Fingerprint()).Add(now_).Add(plan_at_).Add(incarnation_).Add(acknowledged_);
  digest.Add(b_claimed_).Add(options_.breaks).Add(options_.restarts).Add(options_.node_deaths);
  digest.Add(options_.given_up).Add(options_.overs);
  for (const auto& [version, value] : values_) digest.Add(version).Add(value);
  for (const Node& node : nodes_) {
    node.registers.AddTo(digest);
    digest.Add(node.alive).Add(node.open).Add(node.known).Add(node.lost);
    if (node.heard && Faulty(RegisterFault::kGoneUnasked)) digest.Add(node.heard->writer);
    digest.Add(node.open ? Time{} : node.away_since);
    digest.Add(node.told).Add(node.told ? Time{} : node.unheard_since);
    for (const auto& batch : node.to_shard) {
      for (const planner::EventBody& event : batch) AddTo(digest, event);
      digest.Add(batch.size());
    }
    digest.Add(node.to_shard.size());
    for (const protocol::NodeAction& action : node.to_node) AddTo(digest, action);
    digest.Add(node.to_node.size());
    for (const protocol::RegisterUse& use : node.left_over) AddTo(digest, protocol::NodeEvent(use));
  }
  for (const Client& client : clients_) {
    digest.Add(client.state).Add(client.base).Add(client.left).Add(client.claims_left);
    digest.Add(client.written).Add(client.ticket).Add(client.promised).Add(client.gave_up);
    digest.Add(client.floor).Add(client.promised_then[0]).Add(client.promised_then[1]);
  }
  return digest.value();
}

}  // namespace hoplite::sim

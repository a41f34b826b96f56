// What may happen, and what nodes and clients do.
#include "sim/owner_world/owner_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/kit/message_digest.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kAttempt = 1;  // of the only Put
constexpr std::size_t kLongestPath = 300;
constexpr Duration kSlowest = std::chrono::seconds(1);  // no message takes longer
constexpr Duration kLongTime = std::chrono::seconds(40);

}  // namespace

std::string ToString(const OwnerStep& step) {
  static constexpr const char* kNames[] = {"the shard hears node",
                                           "node hears the shard:",
                                           "the shard reads what is left of node",
                                           "the rest is lost of node",
                                           "connects: node",
                                           "time almost until",
                                           "time",
                                           "a long time",
                                           "owns: client",
                                           "disowns: client",
                                           "puts: node",
                                           "reads: node",
                                           "breaks: session of node",
                                           "restarts: shard",
                                           "dies: client",
                                           "dies: node"};
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(step.kind)], step.node);
}

OrdersResult<OwnerStep> SearchOwners(const OwnerOptions& options, std::uint64_t most_states) {
  return EveryOrder<OwnerStep>(OwnerWorld(options), most_states, kLongestPath);
}

std::string ToString(const OrdersResult<OwnerStep>& result) {
  std::string text = fmt::format("{} states, {}", result.states,
                                 result.violation.empty() ? "sound" : result.violation);
  for (const OwnerStep& step : result.path) text += "\n  " + ToString(step);
  return text;
}

OwnerWorld::OwnerWorld(const OwnerOptions& options)
    : options_(options),
      object_(ObjectId::FromName("owned")),
      layout_(Layout::For(1)),
      shard_(DirectoryOptionsOf(1), now_) {
  for (std::uint32_t node = 0; node < kNodes; ++node) Connect(node);
  if (!options.puts_later) {
    nodes_[1].put = Put::kAsked;
    Say(1, protocol::Create{.object = object_, .layout = layout_, .attempt = kAttempt});
  }
  while (!Quiet()) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (!nodes_[node].to_shard.empty()) ToShard(node);
      if (!nodes_[node].to_node.empty()) ToNode(node);
    }
  }
  next_change_ = NextChange();
}

std::vector<OwnerStep> OwnerWorld::Steps() const {
  std::vector<OwnerStep> steps;
  if (!violation_.empty()) return steps;
  AddOrdinary(steps);
  AddCalls(steps);
  AddFaults(steps);
  return steps;
}

bool OwnerWorld::AtRest() const {
  std::vector<OwnerStep> steps;
  AddOrdinary(steps);
  return steps.empty();
}

bool OwnerWorld::Quiet() const {
  return std::ranges::all_of(
      nodes_, [](const Node& node) { return node.to_shard.empty() && node.to_node.empty(); });
}

void OwnerWorld::AddOrdinary(std::vector<OwnerStep>& steps) const {
  using Kind = OwnerStep::Kind;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    const Node& node = nodes_[i];
    if (!node.to_shard.empty()) steps.push_back({Kind::kToShard, i});
    if (!node.to_node.empty()) steps.push_back({Kind::kToNode, i});
    if (!node.left_over.empty()) steps.push_back({Kind::kLeftOver, i});
    if (!node.left_over.empty()) steps.push_back({Kind::kForgotten, i});
    if (node.alive && !node.open) steps.push_back({Kind::kConnect, i});
  }
  if (next_change_ == kNever || !MayPass(next_change_)) return;
  const bool soon = next_change_ - now_ <= kSlowest;
  if (soon || Quiet()) steps.push_back({Kind::kTime});
  if (!soon && Quiet()) steps.push_back({Kind::kAlmost});
}

void OwnerWorld::AddCalls(std::vector<OwnerStep>& steps) const {
  using Kind = OwnerStep::Kind;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client client = clients_[i];
    if (!nodes_[NodeOf(i)].alive || client == Client::kDead) continue;
    const OwnerOptions::Calls& calls = options_.calls[i];
    if (client == Client::kIdle && calls.owns > 0) steps.push_back({Kind::kOwn, i});
    if (client != Client::kIdle && calls.disowns > 0) steps.push_back({Kind::kDisown, i});
  }
  if (options_.puts_later && nodes_[1].alive && nodes_[1].put == Put::kNone) {
    steps.push_back({Kind::kPut, 1});
    if (long_time_left_ && Quiet() && MayPass(now_ + kLongTime)) steps.push_back({Kind::kLongTime});
  }
  if (MayRead()) steps.push_back({Kind::kRead, 1});
}

bool OwnerWorld::MayRead() const {
  // So it was told of the id.
  return options_.reads && owned_ && nodes_[1].alive && nodes_[1].read == Read::kNone;
}

void OwnerWorld::AddFaults(std::vector<OwnerStep>& steps) const {
  using Kind = OwnerStep::Kind;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (options_.breaks > 0 && nodes_[i].open) steps.push_back({Kind::kBreak, i});
    if (options_.node_deaths > 0 && nodes_[i].alive) steps.push_back({Kind::kNodeDies, i});
  }
  if (options_.restarts > 0) steps.push_back({Kind::kRestart});
  for (std::uint32_t i = 0; options_.client_deaths > 0 && i < kClients; ++i) {
    const bool owns = clients_[i] != Client::kIdle && clients_[i] != Client::kDead;
    if (owns && nodes_[NodeOf(i)].alive) steps.push_back({Kind::kClientDies, i});
  }
}

void OwnerWorld::Do(const OwnerStep& step) {
  using Kind = OwnerStep::Kind;
  switch (step.kind) {
    case Kind::kToShard:
      ToShard(step.node);
      break;
    case Kind::kToNode:
      ToNode(step.node);
      break;
    case Kind::kLeftOver:
      LeftOver(step.node);
      break;
    case Kind::kForgotten:
      nodes_[step.node].left_over.clear();
      break;
    case Kind::kConnect:
      Connect(step.node);
      break;
    case Kind::kAlmost:
      AdvanceTo(next_change_ - std::chrono::milliseconds(500));
      break;
    case Kind::kTime:
      AdvanceTo(next_change_);
      break;
    case Kind::kLongTime:
      long_time_left_ = false;
      AdvanceTo(now_ + kLongTime);
      break;
    case Kind::kOwn:
      Own(step.node);
      break;
    case Kind::kDisown:
      Disown(step.node);
      break;
    case Kind::kPut:
      PutIt();
      break;
    case Kind::kRead:
      ReadIt();
      break;
    case Kind::kBreak:
      --options_.breaks;
      Break(step.node, true);
      break;
    case Kind::kRestart:
      Restart();
      break;
    case Kind::kClientDies:
      --options_.client_deaths;
      clients_[step.node] = Client::kDead;
      nodes_[NodeOf(step.node)].owners.Died(step.node, now_);
      break;
    case Kind::kNodeDies:
      NodeDies(step.node);
      break;
  }
  next_change_ = NextChange();
  Check();
}

void OwnerWorld::Own(std::uint32_t client) {
  --options_.calls[client].owns;
  clients_[client] = Client::kAsked;
  Node& node = nodes_[NodeOf(client)];
  std::optional<Time> vouched;
  if (node.open || Faulty(OwnerFault::kAnswersAlone)) vouched = now_;
  planner::OwnershipState::Effects effects;
  node.owners.Own(client, object_, client, options_.calls[client].grace, now_, vouched, effects);
  Effect(NodeOf(client), effects);
}

void OwnerWorld::Disown(std::uint32_t client) {
  --options_.calls[client].disowns;
  clients_[client] = Client::kIdle;
  planner::OwnershipState::Effects effects;
  nodes_[NodeOf(client)].owners.Disown(client, object_, now_, effects);
  Effect(NodeOf(client), effects);
}

protocol::Create OwnerWorld::CreateOf(const Node& node) const {
  return {.object = object_,
          .layout = layout_,
          .attempt = kAttempt,
          .owned = options_.owned_put,
          .only_if_owned = !options_.owned_put && !Faulty(OwnerFault::kPutsForNobody),
          .number = node.put_number,
          .grace = options_.calls[2].grace};
}

void OwnerWorld::PutIt() {
  Node& node = nodes_[1];
  node.put = Put::kAsked;
  if (options_.owned_put) {
    node.put_number = node.owners.Asks(2, object_, options_.calls[2].grace);
    clients_[2] = Client::kAsked;
  }
  Say(1, CreateOf(node));
}

void OwnerWorld::ReadIt() {
  nodes_[1].read = Read::kWaits;
  Say(1, protocol::Locate{object_, kExpects});
}

// A node that has the object would not ask.
void OwnerWorld::HearOfRead(Node& node, const protocol::NodeAction& action) {
  const bool unowned = std::holds_alternative<protocol::Unowned>(action);
  const bool over = unowned || std::holds_alternative<protocol::Located>(action) ||
                    std::holds_alternative<protocol::Deleted>(action);
  if (node.read == Read::kWaits && over) node.read = Read::kOver;
  const bool owned = std::ranges::any_of(clients_, [](Client c) { return c == Client::kOwns; });
  if (unowned && owned) Fail("safety: a client owns the id, and who waits is told that none does");
}

void OwnerWorld::Effect(std::uint32_t node, const planner::OwnershipState::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) Say(node, event);
  for (const auto& [ticket, result] : effects.answer) {
    Client& client = clients_[ticket];
    if (client != Client::kAsked) continue;
    client = result == protocol::OwnerResult::kOk ? Client::kOwns : Client::kIdle;
    owned_ = owned_ || client == Client::kOwns;
  }
}

void OwnerWorld::Say(std::uint32_t node, protocol::NodeEvent event) {
  if (nodes_[node].open) {
    nodes_[node].to_shard.push_back({planner::NodeSaid{IdOf(node), std::move(event)}});
  }
}

void OwnerWorld::ToNode(std::uint32_t node) {
  const protocol::NodeAction action = std::move(nodes_[node].to_node.front());
  nodes_[node].to_node.erase(nodes_[node].to_node.begin());
  Hear(node, action);
}

void OwnerWorld::Hear(std::uint32_t index, const protocol::NodeAction& action) {
  Node& node = nodes_[index];
  planner::OwnershipState::Effects effects;
  HearOfRead(node, action);
  if (const auto* answer = std::get_if<protocol::OwnerAnswer>(&action)) {
    HearAnswer(index, *answer);
  } else if (std::holds_alternative<protocol::EverOwned>(action)) {
    if (node.copy) node.ever_owned = true;
  } else if (const auto* deleted = std::get_if<protocol::Deleted>(&action)) {
    node.owners.Deleted(object_, effects);
    node.mark = deleted->version;
    node.mark_until = mark_end_;
    if (node.copy && *node.copy < deleted->version) DropCopy(node);
    Effect(index, effects);
    LoseOwners(index);
  } else if (const auto* accepted = std::get_if<protocol::CreateAccepted>(&action)) {
    if (node.put != Put::kAsked) return;
    node.put = Put::kOver;
    node.copy = accepted->version;
    node.ever_owned = accepted->ever_owned;
    if (options_.owned_put && clients_[2] == Client::kAsked) clients_[2] = Client::kOwns;
    node.owners.Accepted(object_, node.put_number, now_, effects);
    Say(index, protocol::CopyComplete{object_, accepted->version});
    Effect(index, effects);
  } else if (std::holds_alternative<protocol::CreateRefused>(action)) {
    node.put = Put::kOver;
    node.owners.Refused(object_, node.put_number, now_, effects);
    if (options_.owned_put && clients_[2] == Client::kAsked) clients_[2] = Client::kIdle;
    Effect(index, effects);
  } else if (const auto* recall = std::get_if<protocol::Recall>(&action)) {
    if (node.copy && *node.copy < recall->version) DropCopy(node);
  }
}

void OwnerWorld::HearAnswer(std::uint32_t index, protocol::OwnerAnswer answer) {
  Node& node = nodes_[index];
  const auto newest = node.owners.Inventory(object_, now_);
  if (Faulty(OwnerFault::kAnyAnswer) && newest) answer.number = newest->number;
  node.answered = std::max(node.answered, answer.number);
  planner::OwnershipState::Effects effects;
  node.owners.Hear(answer, now_, effects);
  Effect(index, effects);
  LoseOwners(index);
}

void OwnerWorld::DropCopy(Node& node) {
  node.copy.reset();
  node.ever_owned = false;
}

// Clients whose ownership the node has ended.
void OwnerWorld::LoseOwners(std::uint32_t node) {
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const bool owned = clients_[i] == Client::kOwns || clients_[i] == Client::kLapsed;
    if (!owned || NodeOf(i) != node || nodes_[node].owners.Owns(i, object_)) continue;
    if (clients_[i] == Client::kOwns) {
      Fail(fmt::format("safety: client {} owned the id, and it was deleted", i));
    }
    clients_[i] = Client::kIdle;
  }
}

std::uint64_t OwnerWorld::Fingerprint() const {
  Digest digest;
  digest.Add(shard_.Fingerprint()).Add(now_).Add(mark_end_).Add(plan_at_).Add(incarnation_);
  digest.Add(ever_).Add(owned_).Add(restarted_).Add(died_).Add(long_time_left_);
  digest.Add(options_.breaks).Add(options_.restarts).Add(options_.client_deaths);
  digest.Add(options_.node_deaths);
  for (const Node& node : nodes_) {
    node.owners.AddTo(digest);
    digest.Add(node.alive).Add(node.open).Add(node.known).Add(node.life).Add(node.put);
    digest.Add(node.open ? Time{} : node.away_since).Add(node.copy.value_or(Version{}));
    digest.Add(node.ever_owned);
    digest.Add(node.told).Add(node.told ? Time{} : node.unheard_since);
    const bool marked = node.mark_until > now_;
    digest.Add(marked ? node.mark : Version{}).Add(marked ? node.mark_until : Time{});
    digest.Add(node.put_number).Add(node.answered).Add(node.read);
    for (const auto& batch : node.to_shard) {
      for (const planner::EventBody& event : batch) AddTo(digest, event);
      digest.Add(batch.size());
    }
    digest.Add(node.to_shard.size());
    for (const protocol::NodeAction& action : node.to_node) AddTo(digest, action);
    digest.Add(node.to_node.size());
    for (const protocol::Owner& owner : node.left_over) digest.Add(owner.number).Add(owner.own);
  }
  for (std::uint32_t i = 0; i < kClients; ++i) {
    digest.Add(clients_[i]).Add(options_.calls[i].owns).Add(options_.calls[i].disowns);
  }
  return digest.value();
}

}  // namespace hoplite::sim

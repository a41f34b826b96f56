// What clients of an id may do; nodes and their sessions.
#include "sim/session_world/owner_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kAttempt = 1;  // of the only Put
constexpr Duration kTombstone = std::chrono::seconds(60);
constexpr Duration kLongTime = std::chrono::seconds(40);

}  // namespace

OrdersResult<SessionStep> SearchOwners(const OwnerOptions& options, std::uint64_t most_states) {
  return EveryOrder<SessionStep>(OwnerWorld(options), most_states, SessionWorld::kLongestPath);
}

OwnerWorld::OwnerWorld(const OwnerOptions& options)
    : SessionWorld({.breaks = options.breaks,
                    .restarts = options.restarts,
                    .node_deaths = options.node_deaths,
                    .most_left_over = 2,
                    .almost = true}),
      options_(options),
      object_(ObjectId::FromName("owned")),
      layout_(Layout::For(1)) {
  directory_.inline_limit_bytes = 0;
  directory_.tombstone = kTombstone;
  if (Faulty(OwnerFault::kNoOrphanGrace)) directory_.orphan_grace = Duration{0};
  if (Faulty(OwnerFault::kOnlyTheWindow)) directory_.unknown_owners = std::chrono::milliseconds(1);
  Start();
  if (!options.puts_later) {
    nodes_[1].put = Put::kAsked;
    Say(1, protocol::Create{.object = object_, .layout = layout_, .attempt = kAttempt});
  }
  Settle();
  next_change_ = NextChange();
}

void OwnerWorld::AddCalls(std::vector<SessionStep>& steps) const {
  using World = OwnerWorld;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client client = clients_[i];
    if (!sessions_[NodeOf(i)].alive || client == Client::kDead) continue;
    const OwnerOptions::Calls& calls = options_.calls[i];
    if (client == Client::kIdle && calls.owns > 0) steps.push_back({"owns", &World::Own, i});
    if (client != Client::kIdle && calls.disowns > 0) {
      steps.push_back({"disowns", &World::Disown, i});
    }
  }
  if (!sessions_[1].alive) return;
  if (options_.puts_later && nodes_[1].put == Put::kNone) {
    steps.push_back({"puts", &World::PutIt, 1});
    const bool may_pass = long_time_left_ && Quiet() && MayPass(now_ + kLongTime);
    if (may_pass) steps.push_back({"a long time", &World::LongTime});
  }
  // A node asks when a client was told that it owns the id.
  const bool may_read = options_.reads && owned_ && nodes_[1].read == Read::kNone;
  if (may_read) steps.push_back({"reads", &World::ReadIt, 1});
}

void OwnerWorld::AddFaults(std::vector<SessionStep>& steps) const {
  SessionWorld::AddFaults(steps);
  for (std::uint32_t i = 0; options_.client_deaths > 0 && i < kClients; ++i) {
    const bool owns = clients_[i] != Client::kIdle && clients_[i] != Client::kDead;
    const bool may_die = owns && sessions_[NodeOf(i)].alive;
    if (may_die) steps.push_back({"client dies", &OwnerWorld::ClientDies, i});
  }
}

void OwnerWorld::LongTime(std::uint32_t) {
  long_time_left_ = false;
  AdvanceTo(now_ + kLongTime);
}

void OwnerWorld::ClientDies(std::uint32_t client) {
  --options_.client_deaths;
  clients_[client] = Client::kDead;
  nodes_[NodeOf(client)].owners.Died(client, now_);
}

void OwnerWorld::Own(std::uint32_t client) {
  --options_.calls[client].owns;
  clients_[client] = Client::kAsked;
  Node& node = nodes_[NodeOf(client)];
  std::optional<Time> vouched;
  const bool open = sessions_[NodeOf(client)].open;
  if (open || Faulty(OwnerFault::kAnswersAlone)) vouched = now_;
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

void OwnerWorld::PutIt(std::uint32_t index) {
  Node& node = nodes_[index];
  node.put = Put::kAsked;
  if (options_.owned_put) {
    node.put_number = node.owners.Asks(2, object_, options_.calls[2].grace);
    clients_[2] = Client::kAsked;
  }
  Say(index, CreateOf(node));
}

void OwnerWorld::ReadIt(std::uint32_t node) {
  nodes_[node].read = Read::kWaits;
  Say(node, protocol::Locate{object_, kExpects});
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

void OwnerWorld::Hear(std::uint32_t index, const protocol::NodeAction& action) {
  Node& node = nodes_[index];
  HearOfRead(node, action);
  if (const auto* answer = std::get_if<protocol::OwnerAnswer>(&action)) {
    HearAnswer(index, *answer);
  } else if (std::holds_alternative<protocol::EverOwned>(action)) {
    if (node.copy) node.ever_owned = true;
  } else if (const auto* deleted = std::get_if<protocol::Deleted>(&action)) {
    HearDeleted(index, deleted->version);
  } else if (const auto* accepted = std::get_if<protocol::CreateAccepted>(&action)) {
    if (node.put == Put::kAsked) HearOfPut(index, accepted);
  } else if (std::holds_alternative<protocol::CreateRefused>(action)) {
    HearOfPut(index, nullptr);
  } else if (const auto* recall = std::get_if<protocol::Recall>(&action)) {
    if (node.copy && *node.copy < recall->version) DropCopy(node);
  }
}

void OwnerWorld::HearDeleted(std::uint32_t index, Version version) {
  Node& node = nodes_[index];
  planner::OwnershipState::Effects effects;
  node.owners.Deleted(object_, effects);
  node.mark = version;
  node.mark_until = mark_end_;
  if (node.copy && *node.copy < version) DropCopy(node);
  Effect(index, effects);
  LoseOwners(index);
}

// The Put was refused where `accepted` is null.
void OwnerWorld::HearOfPut(std::uint32_t index, const protocol::CreateAccepted* accepted) {
  Node& node = nodes_[index];
  node.put = Put::kOver;
  const bool waits = options_.owned_put && clients_[2] == Client::kAsked;
  if (waits) clients_[2] = accepted != nullptr ? Client::kOwns : Client::kIdle;
  planner::OwnershipState::Effects effects;
  if (accepted != nullptr) {
    node.copy = accepted->version;
    node.ever_owned = accepted->ever_owned;
    node.owners.Accepted(object_, node.put_number, now_, effects);
    Say(index, protocol::CopyComplete{object_, accepted->version});
  } else {
    node.owners.Refused(object_, node.put_number, now_, effects);
  }
  Effect(index, effects);
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

void OwnerWorld::Tell(planner::EventBody event) {
  shard_.Apply({now_, event});
  const planner::DirectoryState::OwnerView view = shard_.Owners(object_);
  ever_ = ever_ || view.ever_owned || view.deleted;
  const auto* said = std::get_if<planner::NodeSaid>(&event);
  const auto* owner = said != nullptr ? std::get_if<protocol::Owner>(&said->event) : nullptr;
  const bool forgets = Faulty(OwnerFault::kKnownOwnersOnly) && owner != nullptr && !owner->own;
  if (forgets && !view.owned) {
    shard_.Apply({now_, planner::NodeSaid{said->node, protocol::Delete{object_}}});
  }
}

void OwnerWorld::Answered(planner::Action& action) {
  const auto* deleted = std::get_if<protocol::Deleted>(&action.body);
  if (deleted != nullptr) mark_end_ = now_ + deleted->remaining;
}

void OwnerWorld::Join(std::uint32_t index) {
  Node& node = nodes_[index];
  Session& session = sessions_[index];
  const bool outlived = node.life == incarnation_ && !session.known &&
                        now_ - session.away_since >= kTombstone - kLease;
  if (outlived) DropCopy(node);
  const auto bit = node.owners.Inventory(object_, now_);
  const bool untold =
      Faulty(OwnerFault::kOnlyAnsweredBits) && bit && bit->own && bit->number > node.answered;
  std::uint64_t number = node.owners.number() - (untold ? 1 : 0);
  if (Faulty(OwnerFault::kNoNumbers)) number = 0;
  Tell(planner::NodeJoined{InfoOf(index), node.copy.value_or(Version{}).incarnation, number});
  if (Faulty(OwnerFault::kNoMarker)) {
    Tell(planner::NodeSaid{IdOf(index), protocol::InventoryEnd{}});
  }
  node.life = incarnation_;
  node.owners.SessionOpened({kLease, kOrphanGrace, kTombstone});
  session.to_shard.push_back(InventoryOf(node));
  if (untold) Say(index, protocol::Owner{object_, bit->number, true, bit->grace});
}

std::vector<protocol::NodeEvent> OwnerWorld::InventoryOf(const Node& node) const {
  std::vector<protocol::NodeEvent> events;
  if (node.copy) {
    const bool flag = node.ever_owned && !Faulty(OwnerFault::kNoFlagInInventory);
    events.emplace_back(protocol::Held{.object = object_,
                                       .version = *node.copy,
                                       .layout = layout_,
                                       .metadata = "",
                                       .marks = layout_.full_marks(),
                                       .complete = true,
                                       .primary = true,
                                       .ever_owned = flag});
  }
  if (node.mark_until > now_) {
    events.emplace_back(protocol::Tombstone{object_, node.mark_until - now_, node.mark});
  }
  if (const auto owned = OwnedOf(node)) events.emplace_back(*owned);
  if (node.put == Put::kAsked) events.emplace_back(CreateOf(node));
  if (node.read == Read::kWaits) {
    const bool once = Faulty(OwnerFault::kSaysItOnce);
    events.emplace_back(protocol::Locate{object_, once ? 0 : kExpects});
  }
  events.emplace_back(protocol::InventoryEnd{});
  return events;
}

// An inventory says this of the id; faults leave it out, or a part of it.
std::optional<protocol::Owned> OwnerWorld::OwnedOf(const Node& node) const {
  std::optional<protocol::Owned> owned = node.owners.Inventory(object_, now_);
  if (!owned) return std::nullopt;
  const bool answered = owned->number <= node.answered;
  const bool untold =
      owned->own
          ? Faulty(OwnerFault::kNoBits) || (Faulty(OwnerFault::kOnlyAnsweredBits) && !answered)
          : Faulty(OwnerFault::kNoNotes) || (Faulty(OwnerFault::kNotesTillAnswered) && answered);
  if (untold) return std::nullopt;
  if (Faulty(OwnerFault::kNoGraceInInventory)) owned->grace.reset();
  return owned;
}

void OwnerWorld::Ended(std::uint32_t node) {
  if (!Faulty(OwnerFault::kAnswersAlone)) nodes_[node].owners.SessionEnded();
}

void OwnerWorld::Died(std::uint32_t index) {
  died_ = true;
  DropCopy(nodes_[index]);
  nodes_[index].owners = {};
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (NodeOf(i) == index) clients_[i] = Client::kDead;
  }
}

void OwnerWorld::AddState(Digest& digest) const {
  digest.Add(mark_end_).Add(ever_).Add(owned_).Add(died_).Add(long_time_left_);
  digest.Add(options_.client_deaths);
  for (const Node& node : nodes_) {
    node.owners.AddTo(digest);
    digest.Add(node.life).Add(node.copy.value_or(Version{})).Add(node.ever_owned);
    const bool marked = node.mark_until > now_;
    digest.Add(marked ? node.mark : Version{}).Add(marked ? node.mark_until : Time{});
    digest.Add(node.put).Add(node.put_number).Add(node.read).Add(node.answered);
  }
  for (std::uint32_t i = 0; i < kClients; ++i) {
    digest.Add(clients_[i]).Add(options_.calls[i].owns).Add(options_.calls[i].disowns);
  }
}

}  // namespace hoplite::sim

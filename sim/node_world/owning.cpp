#include "sim/node_world/owning.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace hoplite::node_world {

void Owning::Ask(Member& member, const ObjectId& object, Time deadline) {
  auto client = std::make_shared<Client>();
  client->member = &member;
  client->object = object;
  client->owner = std::make_shared<node::Owner>(node::Owner{.number = clients_.size() + 1});
  clients_.push_back(client);
  auto call = std::make_shared<node::Call>(member.assembly().runtime.main());
  call->deadline = deadline;
  call->client = client->owner;
  member.assembly().calls.Spawn("own", RunAsk(std::move(client), std::move(call)));
}

// A call begins a turn after it was made; its node may have died by then.
net::Task<void> Owning::RunAsk(ClientPtr client, node::CallPtr call) {
  if (client->member == nullptr) co_return;
  auto answer = co_await client->member->assembly().calls.Own(client->object, call);
  if (!answer || client->member == nullptr) co_return;
  client->owns = !client->ended;
  owned_.insert(client->object);
}

net::Task<void> Owning::RunDisown(ClientPtr client, node::CallPtr call) {
  if (client->member == nullptr) co_return;
  (void)co_await client->member->assembly().calls.Disown(client->object, call);
}

bool Owning::EndOne(std::uint64_t order) {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const ClientPtr& client = clients_[(order + i) % clients_.size()];
    if (client->ended || client->member == nullptr) continue;
    End(client, order / clients_.size());
    return true;
  }
  return false;
}

void Owning::EndAll() {
  std::uint64_t how = 0;
  for (const ClientPtr& client : clients_) {
    if (!client->ended && client->member != nullptr) End(client, how++);
  }
}

void Owning::End(const ClientPtr& client, std::uint64_t how) {
  client->ended = true;
  node::ClientCalls& calls = client->member->assembly().calls;
  if (how % 3 == 0 && client->owns) {
    auto call = std::make_shared<node::Call>(client->member->assembly().runtime.main());
    call->client = client->owner;
    calls.Spawn("disown", RunDisown(client, std::move(call)));
    return;
  }
  client->owner->gone = true;
  calls.OnClientEnd(*client->owner, how % 3 == 1 ? node::Operations::ClientEnd::kDied
                                                 : node::Operations::ClientEnd::kClosed);
}

void Owning::Abandon(const Member& member) {
  for (const ClientPtr& client : clients_) {
    if (client->member != &member) continue;
    client->member = nullptr;
    client->ended = true;
  }
}

std::string Owning::Broken(const IsDeleted& deleted) const {
  for (const ClientPtr& client : clients_) {
    const bool stays = client->owns && !client->ended && !excused_.contains(client->object);
    if (!stays || !deleted(client->object)) continue;
    return fmt::format("P17: {} was deleted, and a client of {} owns it",
                       client->object.ToShortString(), client->member->name());
  }
  return "";
}

bool Owning::NobodyOwns(const ObjectId& object) const {
  const auto of_object = [&](const ClientPtr& client) { return client->object == object; };
  const auto owns = [&](const ClientPtr& client) { return client->owns && !client->ended; };
  auto clients = clients_ | std::views::filter(of_object);
  return !clients.empty() && std::ranges::none_of(clients, owns);
}

std::set<ObjectId> Owning::owned() const {
  std::set<ObjectId> owned;
  std::ranges::set_difference(owned_, excused_, std::inserter(owned, owned.end()));
  return owned;
}

}  // namespace hoplite::node_world

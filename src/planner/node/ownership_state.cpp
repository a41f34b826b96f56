#include "planner/node/ownership_state.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {

void OwnershipState::Own(Client client, const ObjectId& id, Ticket ticket, Grace grace, Time now,
                         std::optional<Time> vouched, Effects& out) {
  Id& entry = ids_[id];
  Holding& holding = entry.clients[client];
  concern_[client][id].grace = grace;
  const bool acknowledged = entry.own && entry.told != 0 && entry.told == session_;
  const bool as_told = GraceOf(id, entry) == entry.grace;
  if (acknowledged && as_told && vouched && now - *vouched < terms_.lease) {
    holding.granted = true;
    out.answer.push_back({ticket, OwnerResult::kOk});
    return;
  }
  holding.tickets.insert(ticket);
  // A change that is under way, or the next inventory, brings the answer.
  if (!entry.own || acknowledged || !as_told) Say(id, entry, true, out);
}

void OwnershipState::GiveUp(Client client, const ObjectId& id, Ticket ticket, Time now,
                            Effects& out) {
  const auto entry = ids_.find(id);
  if (entry == ids_.end()) return;
  const auto holding = entry->second.clients.find(client);
  if (holding == entry->second.clients.end() || holding->second.tickets.erase(ticket) == 0) return;
  if (holding->second.idle()) Drop(client, id, now, out);
}

bool OwnershipState::Disown(Client client, const ObjectId& id, Time now, Effects& out) {
  const auto entry = ids_.find(id);
  if (entry == ids_.end() || !entry->second.clients.contains(client)) return false;
  for (const Ticket ticket : entry->second.clients.at(client).tickets) {
    out.answer.push_back({ticket, OwnerResult::kOk});
  }
  Drop(client, id, now, out);
  return true;
}

void OwnershipState::Closed(Client client, Time now, Effects& out) {
  closed_.insert_or_assign(client, now);
  std::size_t most = kAtOnce;
  End(client, most, now, out);
}

void OwnershipState::End(Client client, std::size_t& most, Time now, Effects& out) {
  while (concern_.contains(client)) {
    if (most == 0) return;
    --most;
    EndOne(client, concern_.at(client).begin()->first, now, out);
  }
  closed_.erase(client);
}

void OwnershipState::EndOne(Client client, ObjectId id, Time now, Effects& out) {
  Id& entry = ids_.at(id);
  entry.clients.erase(client);
  for (auto& [number, asked] : entry.asked) {
    if (asked.client == client) asked.client.reset();
  }
  Unlink(client, id);
  Settle(id, now, out);
}

void OwnershipState::Died(Client client, Time now) {
  const auto concerned = concern_.find(client);
  if (concerned == concern_.end()) return;
  for (auto& [id, part] : concerned->second) {
    auto& clients = ids_.at(id).clients;
    const auto holding = clients.find(client);
    if (holding != clients.end()) holding->second.tickets.clear();
    lapses_.erase({part.until, client, id});
    part.until = now + graces().Length(part.grace);
    lapses_.insert({part.until, client, id});
  }
}

std::uint64_t OwnershipState::Asks(Client client, const ObjectId& id, Grace grace) {
  ids_[id].asked.emplace(++number_, Asked{client, grace});
  concern_[client][id].grace = grace;
  return number_;
}

void OwnershipState::Accepted(const ObjectId& id, std::uint64_t number, Time now, Effects& out) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return;
  Id& entry = found->second;
  const auto asked = entry.asked.extract(number);
  if (asked.empty()) return;
  if (const auto client = asked.mapped().client) entry.clients[*client].granted = true;
  if (!entry.own) {
    entry.own = true;
    ++owned_;
    entry.number = number;
    entry.grace = asked.mapped().grace;
    entry.told = session_;
  } else if (entry.number < number) {
    entry.grace = graces().Longer(entry.grace, asked.mapped().grace);
  }
  Settle(id, now, out);
}

void OwnershipState::Refused(const ObjectId& id, std::uint64_t number, Time now, Effects& out) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return;
  const auto asked = found->second.asked.extract(number);
  if (asked.empty()) return;
  if (asked.mapped().client) Unlink(*asked.mapped().client, id);
  Settle(id, now, out);
}

void OwnershipState::Hear(const OwnerAnswer& answer, Time now, Effects& out) {
  const auto found = ids_.find(answer.object);
  if (found == ids_.end()) return;
  Id& entry = found->second;
  if (!entry.own || entry.number != answer.number) return;
  if (answer.result != OwnerResult::kOk) {
    EndAll(answer.object, entry, answer.result, out);
    return EraseIfIdle(found);
  }
  entry.told = session_;
  for (auto& [client, holding] : entry.clients) {
    for (const Ticket ticket : std::exchange(holding.tickets, {})) {
      holding.granted = true;
      out.answer.push_back({ticket, OwnerResult::kOk});
    }
  }
  Settle(answer.object, now, out);
}

void OwnershipState::Deleted(const ObjectId& id, Effects& out) {
  const auto entry = ids_.find(id);
  const bool answered = entry != ids_.end() && entry->second.told == session_;
  if (!answered || !entry->second.own) return;
  EndAll(id, entry->second, OwnerResult::kDeleted, out);
  EraseIfIdle(entry);
}

void OwnershipState::SessionOpened(const Terms& terms) {
  terms_ = terms;
  if (session_ % 2 == 0) ++session_;
}

void OwnershipState::SessionEnded() {
  if (session_ % 2 == 1) ++session_;
}

Time OwnershipState::next() const {
  Time next = notes_.empty() ? kNever : notes_.begin()->first;
  if (!lapses_.empty()) next = std::min(next, std::get<Time>(*lapses_.begin()));
  for (const auto& [client, since] : closed_) next = std::min(next, since);
  return next;
}

void OwnershipState::Wake(Time now, Effects& out) {
  std::size_t most = kAtOnce;
  for (const auto& [client, since] : std::map(closed_)) End(client, most, now, out);
  for (; most > 0 && !lapses_.empty(); --most) {
    const auto [until, client, id] = *lapses_.begin();
    if (until > now) break;
    EndOne(client, id, now, out);
  }
  for (; most > 0 && !notes_.empty() && notes_.begin()->first <= now; --most) {
    const auto entry = ids_.find(notes_.begin()->second);
    notes_.erase(notes_.begin());
    entry->second.noted_until = {};
    EraseIfIdle(entry);
  }
}

std::optional<Owned> OwnershipState::Inventory(const ObjectId& id, Time now) const {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return std::nullopt;
  const Id& entry = found->second;
  if (!entry.own && entry.noted_until <= now) return std::nullopt;
  return Owned{id, entry.number, entry.own, entry.grace};
}

std::vector<ObjectId> OwnershipState::After(const std::optional<ObjectId>& id,
                                            std::size_t most) const {
  std::vector<ObjectId> next;
  auto entry = id ? ids_.upper_bound(*id) : ids_.begin();
  for (; entry != ids_.end() && next.size() < most; ++entry) next.push_back(entry->first);
  return next;
}

bool OwnershipState::Owns(Client client, const ObjectId& id) const {
  const auto entry = ids_.find(id);
  if (entry == ids_.end()) return false;
  const auto holding = entry->second.clients.find(client);
  return holding != entry->second.clients.end() && holding->second.granted;
}

// A request that is not answered holds an older bit as it is: the shard may have accepted it, and
// would take the change for the end of what it accepted.
void OwnershipState::Settle(const ObjectId& id, Time now, Effects& out) {
  const auto found = ids_.find(id);
  Id& entry = found->second;
  if (entry.own && !entry.clients.empty()) {
    if (GraceOf(id, entry) != entry.grace) Say(id, entry, true, out);
    return;
  }
  if (!entry.own || !entry.asked.empty()) return EraseIfIdle(found);
  Say(id, entry, false, out);
  notes_.erase({entry.noted_until, id});
  entry.noted_until = now + terms_.tombstone;
  notes_.insert({entry.noted_until, id});
}

void OwnershipState::Say(const ObjectId& id, Id& entry, bool own, Effects& out) {
  if (own && !entry.own) ++owned_;
  if (!own && entry.own) --owned_;
  entry.own = own;
  entry.number = ++number_;
  entry.told = 0;
  entry.grace = own ? GraceOf(id, entry) : std::nullopt;
  out.say.emplace_back(Owner{id, entry.number, own, entry.grace});
}

Grace OwnershipState::GraceOf(const ObjectId& id, const Id& entry) const {
  Grace longest = Duration{0};
  for (const auto& [client, holding] : entry.clients) {
    longest = graces().Longer(longest, concern_.at(client).at(id).grace);
  }
  return longest;
}

void OwnershipState::Drop(Client client, const ObjectId& id, Time now, Effects& out) {
  ids_.at(id).clients.erase(client);
  Unlink(client, id);
  Settle(id, now, out);
}

void OwnershipState::EndAll(const ObjectId& id, Id& entry, OwnerResult why, Effects& out) {
  for (const auto& [client, holding] : std::exchange(entry.clients, {})) {
    for (const Ticket ticket : holding.tickets) out.answer.push_back({ticket, why});
    Unlink(client, id);  // it may still ask for it
  }
  if (std::exchange(entry.own, false)) --owned_;
  entry.told = 0;
}

bool OwnershipState::Concerns(const Id& entry, Client client) {
  return entry.clients.contains(client) || std::ranges::any_of(entry.asked, [&](const auto& one) {
           return one.second.client == client;
         });
}

// After the client's part in the id has ended, or one of its parts.
void OwnershipState::Unlink(Client client, const ObjectId& id) {
  if (Concerns(ids_.at(id), client)) return;
  const auto concerned = concern_.find(client);
  const auto part = concerned->second.find(id);
  lapses_.erase({part->second.until, client, id});
  concerned->second.erase(part);
  if (concerned->second.empty()) concern_.erase(concerned);
}

void OwnershipState::EraseIfIdle(Ids::iterator entry) {
  const Id& known = entry->second;
  const bool noted = known.noted_until != Time{};
  if (!known.own && known.clients.empty() && known.asked.empty() && !noted) ids_.erase(entry);
}

void OwnershipState::AddTo(Digest& digest) const {
  digest.Add(number_).Add(session_);
  for (const auto& [id, entry] : ids_) {
    digest.Add(id).Add(entry.number).Add(entry.own).Add(entry.told).Add(entry.noted_until);
    if (entry.own) digest.Add(graces().Length(entry.grace));
    for (const auto& [client, holding] : entry.clients) {
      digest.Add(client).Add(holding.granted);
      for (const Ticket ticket : holding.tickets) digest.Add(ticket);
    }
    for (const auto& [number, asked] : entry.asked) {
      digest.Add(number).Add(asked.client.value_or(0)).Add(graces().Length(asked.grace));
    }
  }
  for (const auto& [client, parts] : concern_) {
    for (const auto& [id, part] : parts) digest.Add(graces().Length(part.grace)).Add(part.until);
  }
  for (const auto& [client, since] : closed_) digest.Add(client).Add(since);
}

}  // namespace hoplite::planner

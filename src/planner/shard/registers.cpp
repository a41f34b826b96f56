#include "planner/shard/registers.h"

#include <algorithm>
#include <utility>

namespace hoplite::planner {
namespace {

RegisterAttempt AttemptOf(NodeId node, const RegisterCall& call) { return {node, call.number}; }

// It did what the register holds.
void NoteDone(const RegisterRecord& record, RegisterUser& user, const RegisterCall& call) {
  user.done = {.call = call.number, .version = record.entry.version, .claim = record.entry.claim};
}

// Somebody believes that he is the writer, or is to hear so, who claimed it before.
bool OthersClaim(const RegisterRecord& record, Version claim) {
  return std::ranges::any_of(record.users, [&](const auto& entry) {
    const Version other = ClaimOf(entry.second);
    return other && other < claim;
  });
}

}  // namespace

void Registers::On(NodeId node, const RegisterUse& event) {
  // Left over from an older session.
  if (event.number <= book_.FloorOf(node)) return;
  if (!event.open) return book_.Drop(event.object, node);
  RegisterRecord* record = book_.Find(event.object);
  const bool known = record != nullptr && record->users.contains(node);
  if (!known && book_.CountOf(node) >= options_.register_limit) {
    return post_.Send(node,
                      RegisterNews{.object = event.object, .outcome = RegisterOutcome::kLimit});
  }
  RegisterUser& user = book_.Use(event.object, node);
  user.away = false;
  user.claim = event.claim;
  user.call = event.call;
  if (user.done && (!user.call || user.call->number != user.done->call)) user.done.reset();
  book_.Touch(event.object);
  if (!event.knows) return;
  user.told.reset();
  stamps_.NoteSeen(event.knows->version.incarnation);
  record = book_.Find(event.object);
  if (event.knows->version > record->entry.version) record->entry = *event.knows;
}

bool Registers::Collected() const {
  return !window_.collecting() && owner_clock_.Counted(clock_.now()) >= CollectedAt();
}

void Registers::Run() {
  const ObjectId id = book_.TakeTouched();
  RegisterRecord* record = book_.Find(id);
  if (record == nullptr) return;
  Answer(id, *record);
  TellNews(id, *record);
}

// A claim may wait for what a later node of the list says no more: then that touches the register.
void Registers::Answer(const ObjectId& id, RegisterRecord& record) {
  for (auto& [node, user] : record.users) {
    if (!user.call) continue;
    const RegisterCall call = *user.call;
    if (Answer(id, record, node, call)) user.call.reset();
  }
}

bool Registers::Answer(const ObjectId& id, RegisterRecord& record, NodeId node,
                       const RegisterCall& call) {
  if (!call.write) {
    Tell(id, record, node, RegisterOutcome::kRead, call.number);
    return true;
  }
  RegisterUser& user = record.users.at(node);
  // A shard before did it.
  if (!user.done && record.entry.attempt == AttemptOf(node, call)) NoteDone(record, user, call);
  if (!user.done && record.entry.version != call.write->expected) {
    Tell(id, record, node, RegisterOutcome::kConflict, call.number);
    return true;
  }
  if (!user.done) {
    Write(record, node, call);
    NoteDone(record, user, call);
  }
  if (user.done->claims()) {
    if (OthersClaim(record, user.done->claim)) return false;
    user.claim = user.done->claim;
  }
  TellWritten(id, record, node, call);
  return true;
}

void Registers::Write(RegisterRecord& record, NodeId node, const RegisterCall& call) {
  const Version version = stamps_.NextVersion();
  record.entry = {.version = version,
                  .claim = call.write->claims ? version : record.entry.claim,
                  .value = call.write->value,
                  .attempt = AttemptOf(node, call)};
}

void Registers::TellNews(const ObjectId& id, RegisterRecord& record) {
  const RegisterUser::Told news{record.entry.version, HasWriter(record)};
  for (const auto& [node, user] : record.users) {
    if (!user.away && user.told != news) Tell(id, record, node, RegisterOutcome::kNews, 0);
  }
}

// What it did, whatever was written since.
void Registers::TellWritten(const ObjectId& id, RegisterRecord& record, NodeId node,
                            const RegisterCall& call) {
  RegisterUser& user = record.users.at(node);
  const bool writer = HasWriter(record);
  user.told = RegisterUser::Told{user.done->version, writer};
  post_.Send(node, RegisterNews{.object = id,
                                .entry = {.version = user.done->version,
                                          .claim = user.done->claim,
                                          .value = call.write->value,
                                          .attempt = AttemptOf(node, call)},
                                .writer = writer,
                                .outcome = RegisterOutcome::kWritten,
                                .call = call.number});
}

void Registers::Tell(const ObjectId& id, RegisterRecord& record, NodeId node,
                     RegisterOutcome outcome, std::uint64_t call) {
  const bool writer = HasWriter(record);
  record.users.at(node).told = RegisterUser::Told{record.entry.version, writer};
  post_.Send(
      node,
      RegisterNews{
          .object = id, .entry = record.entry, .writer = writer, .outcome = outcome, .call = call});
}

Time Registers::Next() {
  if (!book_.touched()) return kNever;
  if (Collected()) return clock_.now();
  if (window_.collecting()) return kNever;
  return owner_clock_.Ask(clock_.now(), CollectedAt());
}

}  // namespace hoplite::planner

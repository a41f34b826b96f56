#include "planner/node/register_state.h"

#include <algorithm>
#include <utility>

#include "base/digest_fields.h"

namespace hoplite::planner {

// --- clients

void RegisterState::Open(Handle handle, const ObjectId& name, Effects& out) {
  const auto [entry, fresh] = ids_.try_emplace(name);
  entry->second.handles.try_emplace(handle);
  if (fresh) Say(name, entry->second, out);
}

void RegisterState::Close(Handle handle, const ObjectId& name, Effects& out) {
  const auto entry = ids_.find(name);
  if (entry == ids_.end()) return;
  Id& id = entry->second;
  const auto closed = id.handles.extract(handle);
  if (closed.empty()) return;
  const bool under_way = Forget(id, [&](const Asked& asked) { return asked.handle == handle; });
  const bool begun = Begin(id);
  if (closed.mapped() || under_way || begun || id.handles.empty()) Say(name, id, out);
  if (id.handles.empty()) ids_.erase(entry);
}

void RegisterState::Get(Handle handle, const ObjectId& name, Ticket ticket, Effects& out) {
  Id& id = ids_.at(name);
  id.reads.push_back({ticket, handle});
  if (Begin(id)) Say(name, id, out);
}

void RegisterState::Write(Handle handle, const ObjectId& name, Ticket ticket, CompareAndSet write,
                          Effects& out) {
  Id& id = ids_.at(name);
  id.writes.push_back({{ticket, handle}, std::move(write)});
  if (Begin(id)) Say(name, id, out);
}

void RegisterState::Changed(Handle handle, const ObjectId& name, Ticket ticket, Version after,
                            bool only_later, Effects& out) {
  Id& id = ids_.at(name);
  if (id.entry.version > after) return Answer(id, ticket, Outcome::kEntry, out);
  id.waits.push_back({{ticket, handle}, after, only_later, number_});
  if (Begin(id)) Say(name, id, out);
}

void RegisterState::GiveUp(const ObjectId& name, Ticket ticket, Effects& out) {
  const auto entry = ids_.find(name);
  if (entry == ids_.end()) return;
  Id& id = entry->second;
  const bool under_way = Forget(id, [&](const Asked& asked) { return asked.ticket == ticket; });
  if (Begin(id) || under_way) Say(name, id, out);
}

template <typename Whose>
bool RegisterState::Forget(Id& id, Whose whose) {
  const bool writing = id.call && id.call->write && whose(id.writes.front().asked);
  std::erase_if(id.writes, [&](const AskedWrite& write) { return whose(write.asked); });
  for (std::vector<Asked>* const reads : {&id.reads, &id.reading}) std::erase_if(*reads, whose);
  std::erase_if(id.waits, [&](const Waiting& wait) { return whose(wait.asked); });
  if (!writing) return false;
  id.call.reset();
  id.reads.insert(id.reads.begin(), id.reading.begin(), id.reading.end());
  id.reading.clear();
  return true;
}

// --- calls

bool RegisterState::Begin(Id& id) {
  const bool needed = !id.writes.empty() || !id.reads.empty() || AsksForWriter(id);
  if (id.call || !needed) return false;
  id.call.emplace(RegisterCall{.number = ++number_});
  if (!id.writes.empty()) id.call->write = id.writes.front().write;
  id.reading = std::exchange(id.reads, {});
  return true;
}

// That there is none was said before somebody waited.
bool RegisterState::AsksForWriter(const Id& id) const {
  const auto asks = [](const Waiting& wait) { return !wait.only_later; };
  return std::ranges::any_of(id.waits, asks) && id.heard == session_ && id.entry.claim &&
         !id.writer;
}

void RegisterState::Hear(const RegisterNews& news, Effects& out) {
  const auto entry = ids_.find(news.object);
  if (entry == ids_.end()) return;
  Id& id = entry->second;
  if (news.outcome == RegisterOutcome::kLimit) return RefuseAll(id, out);
  if (news.entry.version >= id.entry.version) id.entry = news.entry;
  id.writer = news.writer;
  id.heard = session_;
  const bool answered = id.call && id.call->number == news.call;
  if (answered) AnswerCall(id, news, out);
  AnswerWaits(id, answered ? news.call : 0, out);
  const bool ended = EndClaims(id);
  if (Begin(id) || ended) Say(news.object, id, out);
}

void RegisterState::AnswerCall(Id& id, const RegisterNews& news, Effects& out) {
  if (id.call->write) {
    const AskedWrite write = std::move(id.writes.front());
    id.writes.pop_front();
    const bool written = news.outcome == RegisterOutcome::kWritten;
    if (written && write.write.claims) id.handles.at(write.asked.handle) = news.entry.claim;
    // What it wrote: there may be a later entry already.
    if (written)
      out.answer.push_back({write.asked.ticket, Outcome::kWritten, news.entry, news.writer});
    else
      Answer(id, write.asked.ticket, Outcome::kConflict, out);
  }
  for (const Asked& read : std::exchange(id.reading, {})) {
    Answer(id, read.ticket, Outcome::kEntry, out);
  }
  id.call.reset();
}

void RegisterState::AnswerWaits(Id& id, std::uint64_t answered, Effects& out) {
  std::erase_if(id.waits, [&](const Waiting& wait) {
    const bool later = id.entry.version > wait.after;
    const bool in_vain = !wait.only_later && wait.since < answered && id.entry.claim && !id.writer;
    if (later || in_vain) {
      Answer(id, wait.asked.ticket, later ? Outcome::kEntry : Outcome::kNoWriter, out);
    }
    return later || in_vain;
  });
}

bool RegisterState::EndClaims(Id& id) {
  bool ended = false;
  for (auto& [handle, claim] : id.handles) {
    if (!claim || claim == id.entry.claim) continue;
    claim = {};
    ended = true;
  }
  return ended;
}

void RegisterState::RefuseAll(Id& id, Effects& out) {
  std::vector<Ticket> tickets;
  for (const AskedWrite& write : id.writes) tickets.push_back(write.asked.ticket);
  for (const auto* reads : {&id.reads, &id.reading}) {
    for (const Asked& read : *reads) tickets.push_back(read.ticket);
  }
  for (const Waiting& wait : id.waits) tickets.push_back(wait.asked.ticket);
  id = {.handles = std::move(id.handles)};
  for (const Ticket ticket : tickets) Answer(id, ticket, Outcome::kLimit, out);
}

void RegisterState::Answer(const Id& id, Ticket ticket, Outcome outcome, Effects& out) {
  out.answer.push_back({ticket, outcome, id.entry, id.writer});
}

// --- words

void RegisterState::Say(const ObjectId& name, Id& id, Effects& out) {
  if (!open_session()) return;
  RegisterUse word = Word(name, id);
  if (std::exchange(id.told, session_) != session_) word.knows = id.entry;
  out.say.emplace_back(std::move(word));
}

RegisterUse RegisterState::Word(const ObjectId& name, const Id& id) {
  RegisterUse word{.object = name, .number = ++number_, .open = !id.handles.empty()};
  for (const auto& [handle, claim] : id.handles) word.claim = std::max(word.claim, claim);
  word.call = id.call;
  return word;
}

std::optional<RegisterUse> RegisterState::Inventory(const ObjectId& name) {
  const auto entry = ids_.find(name);
  if (entry == ids_.end()) return std::nullopt;
  Id& id = entry->second;
  id.told = session_;
  RegisterUse word = Word(name, id);
  word.knows = id.entry;
  return word;
}

std::vector<ObjectId> RegisterState::After(const std::optional<ObjectId>& id,
                                           std::size_t most) const {
  std::vector<ObjectId> next;
  auto entry = id ? ids_.upper_bound(*id) : ids_.begin();
  for (; entry != ids_.end() && next.size() < most; ++entry) next.push_back(entry->first);
  return next;
}

void RegisterState::SessionOpened() {
  if (!open_session()) ++session_;
}

void RegisterState::SessionEnded() {
  if (open_session()) ++session_;
}

Version RegisterState::ClaimOf(Handle handle, const ObjectId& name) const {
  const auto entry = ids_.find(name);
  if (entry == ids_.end()) return {};
  const auto claim = entry->second.handles.find(handle);
  return claim == entry->second.handles.end() ? Version{} : claim->second;
}

const RegisterContents* RegisterState::Known(const ObjectId& name) const {
  const auto entry = ids_.find(name);
  return entry == ids_.end() ? nullptr : &entry->second.entry;
}

void RegisterState::AddTo(Digest& digest) const {
  digest.Add(number_).Add(open_session());
  const auto add = [&](const Asked& asked) { digest.Add(asked.ticket).Add(asked.handle); };
  for (const auto& [name, id] : ids_) {
    digest.Add(name).Add(id.writer).Add(id.told == session_).Add(id.heard == session_);
    AddFields(digest, id.entry);
    for (const auto& [handle, claim] : id.handles) digest.Add(handle).Add(claim);
    for (const AskedWrite& write : id.writes) {
      add(write.asked);
      AddFields(digest, write.write);
    }
    for (const Asked& read : id.reads) add(read);
    digest.Add(id.reads.size());
    for (const Asked& read : id.reading) add(read);
    for (const Waiting& wait : id.waits) {
      add(wait.asked);
      digest.Add(wait.after).Add(wait.only_later).Add(wait.since);
    }
    AddFields(digest, id.call);
  }
}

}  // namespace hoplite::planner

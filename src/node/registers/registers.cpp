#include "node/registers/registers.h"

#include <set>
#include <utility>

#include "base/object_names.h"
#include "base/shown_text.h"

namespace hoplite::node {

using Answer = OpenRegister::Answer;

// A call, as long as it waits: its end before the answer gives it up.
class Registers::Asking {
 public:
  Asking(Handle& handle, Call& call);
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  void Answer(const State::Answered& answered) {
    answered_ = answered;
    Wake();
  }
  void Wake() { call_.changed.Notify(); }
  // What was answered; none: the call has ended without.
  net::Task<std::optional<State::Answered>> Wait();

  const State::Ticket ticket;

 private:
  Handle& handle_;
  Call& call_;  // woken by the answer
  std::optional<State::Answered> answered_;
};

class Registers::Handle final : public OpenRegister {
 public:
  Handle(Registers& registers, const std::string& name)
      : registers_(registers),
        name_("register \"" + ShownText(name) + '"'),
        id_(IdOfName(name)),
        handle_(++registers.names_) {
    State::Effects effects;
    registers_.StateOf(id_).Open(handle_, id_, effects);
    registers_.Carry(effects);
  }
  ~Handle() override { Close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  net::Task<Result<Answer>> Get(CallPtr call) override {
    return Ask(std::move(call), "its shard did not answer",
               [this](State::Ticket ticket, State::Effects& effects) {
                 registers_.StateOf(id_).Get(handle_, id_, ticket, effects);
               });
  }
  net::Task<Result<Answer>> CompareAndSet(protocol::CompareAndSet write, CallPtr call) override {
    const char* missing = write.claims
                              ? "its shard did not answer, or the node of the writer before did not"
                              : "its shard did not answer";
    return Ask(std::move(call), missing,
               [this, write = std::move(write)](State::Ticket ticket, State::Effects& effects) {
                 registers_.StateOf(id_).Write(handle_, id_, ticket, write, effects);
               });
  }
  net::Task<Result<Answer>> Changed(Version after, bool only_later, CallPtr call) override {
    return Ask(std::move(call), "nobody wrote it",
               [this, after, only_later](State::Ticket ticket, State::Effects& effects) {
                 registers_.StateOf(id_).Changed(handle_, id_, ticket, after, only_later, effects);
               });
  }
  void Close() override {
    if (std::exchange(closed_, true)) return;
    State::Effects effects;
    registers_.StateOf(id_).Close(handle_, id_, effects);
    registers_.Carry(effects);
    for (Asking* const asking : asking_) asking->Wake();
  }

 private:
  friend class Asking;

  template <typename Begin>
  net::Task<Result<Answer>> Ask(CallPtr call, const char* missing, Begin begin) {
    if (closed_) co_return std::unexpected(WhyNot(*call, missing));
    Asking asking(*this, *call);
    State::Effects effects;
    begin(asking.ticket, effects);
    registers_.Carry(effects);
    const std::optional<State::Answered> answered = co_await asking.Wait();
    if (!answered) co_return std::unexpected(WhyNot(*call, missing));
    if (answered->outcome == State::Outcome::kLimit) {
      co_return std::unexpected(
          Error(ErrorCode::kResourceExhausted,
                name_ + ": this node has as many registers open as the directory allows a node"));
    }
    co_return Answer{.entry = answered->entry,
                     .writer = answered->writer,
                     .written = answered->outcome == State::Outcome::kWritten};
  }
  Error WhyNot(const Call& call, const char* missing) const {
    if (registers_.stopped_) return *registers_.stopped_;
    if (closed_) return {ErrorCode::kCancelled, name_ + " was closed"};
    if (call.cancelled) return {ErrorCode::kCancelled, name_ + ": the call was cancelled"};
    return {ErrorCode::kTimeout,
            name_ + ": " + missing + " within the deadline" + registers_.if_away_(id_)};
  }

  Registers& registers_;
  const std::string name_;  // in words
  const ObjectId id_;
  const State::Handle handle_;
  std::set<Asking*> asking_;
  bool closed_ = false;
};

Registers::Asking::Asking(Handle& handle, Call& call)
    : ticket(++handle.registers_.names_), handle_(handle), call_(call) {
  handle_.registers_.asking_.emplace(ticket, this);
  handle_.asking_.insert(this);
}

Registers::Asking::~Asking() {
  handle_.registers_.asking_.erase(ticket);
  handle_.asking_.erase(this);
  if (answered_) return;
  State::Effects effects;
  handle_.registers_.StateOf(handle_.id_).GiveUp(handle_.id_, ticket, effects);
  handle_.registers_.Carry(effects);
}

net::Task<std::optional<Registers::State::Answered>> Registers::Asking::Wait() {
  while (!answered_ && !call_.cancelled && !handle_.closed_ && !handle_.registers_.stopped_) {
    if (!co_await call_.changed.Wait(call_.deadline)) break;
  }
  co_return answered_;
}

Registers::Registers(directory::DirectoryClient& directory,
                     std::function<std::string(const ObjectId&)> if_away)
    : directory_(directory), if_away_(std::move(if_away)), shards_(directory.shard_count()) {}

std::size_t Registers::ShardOf(const ObjectId& id) const {
  return directory::ShardOf(id, shards_.size());
}

std::shared_ptr<OpenRegister> Registers::Open(const std::string& name) {
  return std::make_shared<Handle>(*this, name);
}

void Registers::Stop(const Error& why) {
  if (!stopped_) stopped_ = why;
  for (const auto& [ticket, asking] : asking_) asking->Wake();
}

void Registers::Hear(const protocol::RegisterNews& news) {
  State::Effects effects;
  StateOf(news.object).Hear(news, effects);
  Carry(effects);
}

void Registers::OnSession(std::size_t shard, bool open) {
  if (open) {
    shards_.at(shard).SessionOpened();
  } else {
    shards_.at(shard).SessionEnded();
  }
}

void Registers::Carry(const State::Effects& effects) {
  for (const protocol::NodeEvent& event : effects.say) directory_.Send(event);
  for (const State::Answered& answered : effects.answer) {
    const auto asking = asking_.find(answered.ticket);
    if (asking != asking_.end()) asking->second->Answer(answered);
  }
}

}  // namespace hoplite::node

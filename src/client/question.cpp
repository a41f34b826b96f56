#include "client/question.h"

#include <utility>

#include "client/interruption.h"

namespace hoplite::client {
namespace {

Error Silent() { return {ErrorCode::kTimeout, "the node did not answer in time"}; }

}  // namespace

Question::Question(std::shared_ptr<Connection> connection, PendingPtr pending, Time deadline)
    : connection_(std::move(connection)), pending_(std::move(pending)), deadline_(deadline) {}

Question::Question(std::shared_ptr<Connection> connection, PendingPtr pending, Time deadline,
                   GiveUpBy give_up)
    : connection_(std::move(connection)),
      pending_(std::move(pending)),
      deadline_(deadline),
      give_up_(std::move(give_up)) {}

const Question::Answer* Question::Wait(Time until) {
  if (inherited()) return &connection_->inherited_answer();
  // Who waits there keeps the answer away.
  if (connection_->on_reader()) return pending_->settled() ? &pending_->outcome() : nullptr;
  if (until < deadline_) return WaitFor(*pending_, until) ? &pending_->outcome() : nullptr;
  if (!connection_->WaitForAnswer(*pending_, deadline_)) {
    if (Interruption::Wanted()) return nullptr;
    GiveUpSilent();
  }
  Connection::HoldBack(*pending_, deadline_);
  return &pending_->outcome();
}

void Question::OnReady(std::function<void()> function) {
  // `function` may destroy this on the reader's thread before the call returns.
  const std::shared_ptr<Connection> connection = connection_;
  const PendingPtr pending = pending_;
  connection->OnReady(pending, deadline_, [this] { GiveUpSilent(); }, std::move(function));
}

void Question::GiveUpSilent() const { GiveUp(Silent()); }

void Question::GiveUp(Error why) const {
  if (inherited()) return;
  if (give_up_) return give_up_(std::move(why));
  connection_->GiveUp(*pending_, std::move(why));
}

void Question::Drop() {
  if (give_up_) return GiveUp(Error(ErrorCode::kCancelled, "nobody waits for the answer"));
  connection_->Drop(pending_);
}

}  // namespace hoplite::client

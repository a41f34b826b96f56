#include "admin/call.h"

#include <algorithm>

namespace hoplite::admin {

void UnreadAnswers::Add(Call& call, std::size_t bytes) {
  const MutexLock lock(mutex_);
  answers_.push_back({&call, bytes});
  bytes_ += bytes;
  // A call that is in the list is not done: OnDone removes it first.
  while (bytes_ > kMostBytes && answers_.size() > 1) {
    answers_.front().call->GiveUp();
    bytes_ -= answers_.front().bytes;
    answers_.pop_front();
  }
}

void UnreadAnswers::Remove(const Call& call) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(answers_, &call, &Answer::call);
  if (found == answers_.end()) return;
  bytes_ -= found->bytes;
  answers_.erase(found);
}

std::shared_ptr<Call> Call::Begin(grpc::CallbackServerContext& context, UnreadAnswers& unread) {
  std::shared_ptr<Call> call(new Call(context, unread));
  call->self_ = call;
  return call;
}

void Call::Answer(grpc::Status status, std::size_t bytes) {
  unread_.Add(*this, bytes);
  Finish(std::move(status));
}

void Call::OnCancel() {
  cancelled_ = true;
  if (when_cancelled_) when_cancelled_();
}

void Call::OnDone() {
  unread_.Remove(*this);
  self_.reset();
}

}  // namespace hoplite::admin

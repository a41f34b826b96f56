#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/future.h>
#include <hoplite/reduction.h>
#include <hoplite/register.h>

#include "base/clock.h"
#include "client/client_access.h"
#include "client/future_state.h"
#include "client/interruption.h"

namespace hoplite {

using client::Question;

template <typename T>
Result<T> FutureState<T>::Wait(Time until) {
  const Question::Answer* answer = question_->Wait(until);
  if (answer == nullptr) {
    return std::unexpected(Error(ErrorCode::kTimeout, what_ + " is not there yet"));
  }
  if (question_->inherited()) return std::unexpected(answer->error());
  const MutexLock lock(mutex_);
  if (!result_) result_ = *answer ? Read(**answer) : std::unexpected(answer->error());
  return *result_;
}

template <typename T>
void FutureState<T>::Cancel() {
  question_->GiveUp(Error(ErrorCode::kCancelled, what_ + ": the caller cancelled"));
}

template <typename T>
void FutureState<T>::Drop() {
  question_->Forget();
  if (question_->inherited()) return;  // another thread may have held the mutex
  const MutexLock lock(mutex_);
  if (!result_) question_->Drop();
}

template class FutureState<Buffer>;
template class FutureState<ObjectId>;
template class FutureState<void>;
template class FutureState<RegisterEntry>;
template class FutureState<RegisterWrite>;
template class FutureState<Snapshot>;

GetState::~GetState() { Drop(); }

PutState::~PutState() { Drop(); }

DoneState::DoneState(std::unique_ptr<client::Question> question, std::span<const ObjectId> objects)
    : FutureState(std::move(question), objects.size() == 1
                                           ? "object " + objects.front().ToHex()
                                           : std::to_string(objects.size()) + " objects") {}

DoneState::~DoneState() { Drop(); }

Result<Buffer> GetState::Read(const client::local::Answer& answer) {
  if (!answer.has_view()) {
    return std::unexpected(Error(ErrorCode::kProtocol, "the node answered Get without bytes"));
  }
  return ClientAccess::MakeBuffer(question().connection(), object_, question().pending().id(),
                                  answer.view());
}

template <typename T>
Future<T>::Future(std::shared_ptr<FutureState<T>> state) : state_(std::move(state)) {}
template <typename T>
Future<T>::~Future() = default;
template <typename T>
Future<T>::Future(Future&&) noexcept = default;
template <typename T>
Future<T>& Future<T>::operator=(Future&&) noexcept = default;

template <typename T>
bool Future<T>::ready() const {
  return state_->question().ready();
}

template <typename T>
Result<T> Future<T>::Wait(std::chrono::milliseconds timeout) const {
  return state_->Wait(client::DeadlineAfter(timeout));
}

template <typename T>
void Future<T>::OnReady(std::function<void()> fn) const {
  state_->question().OnReady(std::move(fn));
}

template <typename T>
void Future<T>::Cancel() {
  state_->Cancel();
}

template class HOPLITE_EXPORT Future<Buffer>;
template class HOPLITE_EXPORT Future<ObjectId>;
template class HOPLITE_EXPORT Future<void>;
template class HOPLITE_EXPORT Future<RegisterEntry>;
template class HOPLITE_EXPORT Future<RegisterWrite>;
template class HOPLITE_EXPORT Future<Snapshot>;

Waitable::Waitable(const Future<Buffer>& future) : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Future<ObjectId>& future) : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Future<void>& future) : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Future<RegisterEntry>& future)
    : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Future<RegisterWrite>& future)
    : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Future<Snapshot>& future) : question_(ClientAccess::QuestionOf(future)) {}
Waitable::Waitable(const Reduction& reduction) : question_(ClientAccess::QuestionOf(reduction)) {}

template <typename T>
const Question* ClientAccess::QuestionOf(const Future<T>& future) {
  return &future.state_->question();
}

const Question* ClientAccess::QuestionOf(const Waitable& waitable) {
  return static_cast<const Question*>(waitable.question_);
}

Result<std::size_t> WaitAny(std::span<const Waitable> any, std::chrono::milliseconds timeout) {
  if (any.empty()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "nothing to wait for"));
  }
  Time until = client::DeadlineAfter(timeout);
  std::vector<const Question*> questions;
  std::vector<client::Pending*> pendings;
  for (const Waitable& one : any) {
    const Question* question = ClientAccess::QuestionOf(one);
    if (question->inherited()) return pendings.size();
    // Who waits there keeps the answers away.
    if (question->connection()->on_reader()) until = std::min(until, Now());
    questions.push_back(question);
    pendings.push_back(&question->pending());
  }
  for (;;) {
    const Question* next = *std::ranges::min_element(questions, {}, &Question::last);
    const Time last = next->last();
    const auto first = client::WaitForAny(pendings, std::min(until, last));
    if (first) return *first;
    if (until <= last || client::Interruption::Wanted()) {
      return std::unexpected(Error(ErrorCode::kTimeout, "none became ready"));
    }
    if (Now() >= next->last()) next->GiveUpSilent();
  }
}

}  // namespace hoplite

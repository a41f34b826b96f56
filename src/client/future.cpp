#include <algorithm>
#include <utility>
#include <vector>

#include <hoplite/future.h>

#include "client/future_state.h"

namespace hoplite {

FutureState<Buffer>::FutureState(std::shared_ptr<client::Connection> connection,
                                 client::PendingPtr pending, const ObjectId& object, Time deadline)
    : connection_(std::move(connection)),
      pending_(std::move(pending)),
      object_(object),
      deadline_(deadline) {}

FutureState<Buffer>::~FutureState() {
  if (!result_) connection_->Drop(pending_);
}

Result<Buffer> FutureState<Buffer>::Wait(Time until) {
  if (inherited()) return std::unexpected(client::Connection::Inherited());
  if (until < deadline_ && !client::WaitFor(*pending_, until)) {
    return std::unexpected(
        Error(ErrorCode::kTimeout, "object " + object_.ToHex() + " is not there yet"));
  }
  (void)connection_->Finish(pending_, deadline_);
  return Convert();
}

Result<Buffer> FutureState<Buffer>::Convert() {
  const MutexLock lock(mutex_);
  if (!result_) {
    const Result<client::local::Answer>& answer = pending_->outcome();
    if (answer) {
      result_ = ClientAccess::MakeBuffer(connection_, object_, pending_->id(), *answer);
    } else {
      result_ = std::unexpected(answer.error());
    }
  }
  return *result_;
}

void FutureState<Buffer>::Cancel() {
  connection_->GiveUp(*pending_, Error(ErrorCode::kCancelled,
                                       "object " + object_.ToHex() + ": the caller cancelled"));
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
  return state_->ready();
}

template <typename T>
Result<T> Future<T>::Wait(std::chrono::milliseconds timeout) const {
  return state_->Wait(client::DeadlineAfter(timeout));
}

template <typename T>
void Future<T>::Cancel() {
  state_->Cancel();
}

template class HOPLITE_EXPORT Future<Buffer>;

client::Pending* ClientAccess::PendingOf(const Future<Buffer>& future) {
  return &future.state_->pending();
}

bool ClientAccess::Inherited(const Future<Buffer>& future) { return future.state_->inherited(); }

Result<std::size_t> WaitAny(std::span<const Future<Buffer>> futures,
                            std::chrono::milliseconds timeout) {
  if (futures.empty()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "no futures to wait for"));
  }
  const auto inherited = std::ranges::find_if(futures, &ClientAccess::Inherited);
  if (inherited != futures.end()) return static_cast<std::size_t>(inherited - futures.begin());
  std::vector<client::Pending*> pendings(futures.size());
  std::ranges::transform(futures, pendings.begin(), &ClientAccess::PendingOf);
  const auto first = client::WaitForAny(pendings, client::DeadlineAfter(timeout));
  if (first) return *first;
  return std::unexpected(Error(ErrorCode::kTimeout, "none of the futures became ready"));
}

}  // namespace hoplite

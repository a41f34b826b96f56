#include <algorithm>
#include <utility>
#include <vector>

#include <hoplite/future.h>

#include "client/future_state.h"

namespace hoplite {

Future<Buffer>::State::State(std::shared_ptr<client::Connection> connection_in,
                             client::PendingPtr pending_in, const ObjectId& object_in,
                             Time deadline_in)
    : connection(std::move(connection_in)),
      pending(std::move(pending_in)),
      object(object_in),
      deadline(deadline_in) {}

Future<Buffer>::State::~State() {
  if (!result) connection->Drop(pending);
}

Result<Buffer> Future<Buffer>::State::Wait(Time until) {
  if (until < deadline && !client::WaitFor(*pending, until)) {
    return std::unexpected(
        Error(ErrorCode::kTimeout, "object " + object.ToShortString() + " is not there yet"));
  }
  (void)connection->Finish(pending, deadline);
  return Convert();
}

Result<Buffer> Future<Buffer>::State::Convert() {
  const std::lock_guard lock(mutex);
  if (!result) {
    const Result<client::local::Answer>& answer = pending->outcome();
    result = answer ? ClientAccess::MakeBuffer(connection, object, pending->id(), *answer)
                    : std::unexpected(answer.error());
  }
  return *result;
}

template <typename T>
Future<T>::Future(std::shared_ptr<State> state) : state_(std::move(state)) {}
template <typename T>
Future<T>::~Future() = default;
template <typename T>
Future<T>::Future(Future&&) noexcept = default;
template <typename T>
Future<T>& Future<T>::operator=(Future&&) noexcept = default;

template <typename T>
bool Future<T>::ready() const {
  return state_->pending->settled();
}

template <typename T>
Result<T> Future<T>::Wait(std::chrono::milliseconds timeout) const {
  return state_->Wait(client::DeadlineAfter(timeout));
}

template <typename T>
void Future<T>::Cancel() {
  state_->connection->GiveUp(
      *state_->pending, Error(ErrorCode::kCancelled, "object " + state_->object.ToShortString() +
                                                         ": the caller cancelled"));
}

template class HOPLITE_EXPORT Future<Buffer>;

client::Pending* ClientAccess::PendingOf(const Future<Buffer>& future) {
  return future.state_->pending.get();
}

Result<std::size_t> WaitAny(std::span<const Future<Buffer>> futures,
                            std::chrono::milliseconds timeout) {
  if (futures.empty()) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "no futures to wait for"));
  }
  std::vector<client::Pending*> pendings(futures.size());
  std::ranges::transform(futures, pendings.begin(), &ClientAccess::PendingOf);
  const auto first = client::WaitForAny(pendings, client::DeadlineAfter(timeout));
  if (first) return *first;
  return std::unexpected(Error(ErrorCode::kTimeout, "none of the futures became ready"));
}

}  // namespace hoplite

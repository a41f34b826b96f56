// Future: an answer that is still to come.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/export.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

class Channel;
class Reduction;
class Snapshot;
struct RegisterEntry;
struct RegisterWrite;
template <typename T>
class FutureState;

// The answer to one request. Destroying it before the answer came cancels the request. All calls
// may come from any thread; a waiting thread sleeps.
template <typename T>
class HOPLITE_EXPORT Future {
 public:
  ~Future();
  Future(Future&&) noexcept;
  Future& operator=(Future&&) noexcept;

  // Whether Wait would return at once.
  bool ready() const;
  // The answer, each time it is asked for. timeout: not there yet; the request goes on, Wait again.
  //   cancelled    Cancel was called, or the client was closed
  //   unavailable  the connection to the node ended
  //   (the call's)  those of the call that made this future
  Result<T> Wait(std::chrono::milliseconds timeout = kForever) const;
  // Calls `fn` once, when Wait would return at once: the answer is there, or an error is, which the
  // deadline, Cancel, the client's Close and the end of the connection bring, too. That is on the
  // client's own thread, soon, also if it is so already. So `fn` must not throw, nor wait for
  // anything: the answers of this client, and its other functions, come after it. Calls that return
  // at once are fine, this Wait among them; one that would wait for this client is an
  // invalid_argument.
  //
  // Once the future is destroyed `fn` is not running, and will not: the destructor waits for it,
  // unless it is called by `fn`. Several functions are called in the order in which they were
  // given. Where the client has no thread (its node was not there when the call was made, or this
  // is a forked child) the future is ready, and OnReady itself calls `fn`.
  void OnReady(std::function<void()> fn) const;
  // Gives up: Wait answers `cancelled`, unless the answer was already there. Idempotent.
  void Cancel();

 private:
  friend class Channel;
  friend class Client;
  friend class ClientAccess;
  friend class Register;
  explicit Future(std::shared_ptr<FutureState<T>> state);
  std::shared_ptr<FutureState<T>> state_;
};

extern template class Future<Buffer>;
extern template class Future<ObjectId>;
extern template class Future<void>;
extern template class Future<RegisterEntry>;
extern template class Future<RegisterWrite>;
extern template class Future<Snapshot>;

// A Future or a Reduction, which must outlive it.
class HOPLITE_EXPORT Waitable {
 public:
  Waitable(const Future<Buffer>& future);
  Waitable(const Future<ObjectId>& future);
  Waitable(const Future<void>& future);
  Waitable(const Future<RegisterEntry>& future);
  Waitable(const Future<RegisterWrite>& future);
  Waitable(const Future<Snapshot>& future);
  Waitable(const Reduction& reduction);

 private:
  friend class ClientAccess;
  const void* question_;
};

// The index of one that is ready (the lowest, if several are), errors being answers too. They may
// be of several clients, and of several kinds: `WaitAny({get, put, reduction}, 5s)`.
//   timeout           none became ready
//   invalid_argument  none were given
HOPLITE_EXPORT Result<std::size_t> WaitAny(std::span<const Waitable> any,
                                           std::chrono::milliseconds timeout = kForever);
inline Result<std::size_t> WaitAny(std::initializer_list<Waitable> any,
                                   std::chrono::milliseconds timeout = kForever) {
  return WaitAny(std::span(any.begin(), any.size()), timeout);
}
// A vector of futures, a span of reductions, …
template <std::ranges::input_range Any>
  requires std::convertible_to<std::ranges::range_reference_t<const Any>, Waitable>
Result<std::size_t> WaitAny(const Any& any, std::chrono::milliseconds timeout = kForever) {
  const std::vector<Waitable> each(std::ranges::begin(any), std::ranges::end(any));
  return WaitAny(std::span(each), timeout);
}

}  // namespace hoplite

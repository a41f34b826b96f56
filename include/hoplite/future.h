// Future: an answer that is still to come.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include <hoplite/buffer.h>
#include <hoplite/export.h>
#include <hoplite/forever.h>
#include <hoplite/result.h>

namespace hoplite {

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
  //   and the errors of the call that made this future
  Result<T> Wait(std::chrono::milliseconds timeout = kForever) const;
  // Gives up: Wait answers `cancelled`, unless the answer was already there. Idempotent.
  void Cancel();

 private:
  friend class Client;
  friend class ClientAccess;
  explicit Future(std::shared_ptr<FutureState<T>> state);
  std::shared_ptr<FutureState<T>> state_;
};

extern template class Future<Buffer>;

// The index of a future that is ready (the lowest, if several are), errors being answers too.
//   timeout           none became ready
//   invalid_argument  no futures were given
HOPLITE_EXPORT Result<std::size_t> WaitAny(std::span<const Future<Buffer>> futures,
                                           std::chrono::milliseconds timeout = kForever);

}  // namespace hoplite

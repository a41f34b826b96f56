// Reduction: one object made of several, folded element by element.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include <hoplite/export.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/options.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

namespace hoplite {

// A reduction under way. The target can be asked for at once, by anybody: it can be read while it
// is made. Destroying the handle leaves the reduction running; what ends it early is Cancel, its
// timeout, or the end of its client (Close, the last copy gone, the process dead).
// All calls may come from any thread; a waiting thread sleeps.
class HOPLITE_EXPORT Reduction {
 public:
  Reduction();  // empty: it is ready, Wait answers invalid_argument
  ~Reduction();
  Reduction(Reduction&&) noexcept;
  Reduction& operator=(Reduction&&) noexcept;

  ObjectId target() const;  // of the object that it makes
  // The outcome, each time it is asked for, once the target is final.
  //   timeout             not there yet: it goes on, Wait again; or the reduction's own timeout
  //                       passed. Names the sources that were missing (with a timeout of 0 it
  //                       doesn't ask)
  //   invalid_argument    the sources differ in size, or in what has to be alike, or don't hold
  //                       whole elements: names two of them. One that comes when others were chosen
  //                       already counts, too, as long as the target is not final
  //   already_exists      the target exists
  //   deleted             the target, or too many sources, were deleted
  //   resource_exhausted  no node has memory for a partial result
  //   peer_lost           the directory had lost this node, for a moment too long, and ended it
  //   cancelled           Cancel was called, or the client was closed
  //   unavailable         the connection to the node ended, and the reduction with it
  //   (a source's own)    a source failed: the reduction that was to make it, too
  // Whoever waits for the target gets the same error, and so does whoever asks for it later, for a
  // minute (DirectoryConfig::tombstone), unless a Put or another reduction of that id began.
  //
  // After an error nobody will see the target, but for one moment: a target that becomes final just
  // when this call ends with timeout, cancelled or unavailable exists all the same. A Get tells.
  Result<ReduceOutcome> Wait(std::chrono::milliseconds timeout = kForever,
                             const std::stop_token& stop = {}) const;
  // Whether Wait would return at once.
  bool ready() const;
  // Calls `fn` once, with the outcome or without arguments, when Wait would return at once; as
  // Future::OnReady says.
  template <detail::HearsOf<ReduceOutcome> F>
  void OnReady(F fn) const {
    const auto shared = std::make_shared<F>(std::move(fn));
    if constexpr (std::invocable<F&, Result<ReduceOutcome>>) {
      CallWhenReady([shared](const auto& outcome) { (*shared)(outcome()); });
    } else {
      CallWhenReady([shared](const auto& /*outcome*/) { (*shared)(); });
    }
  }
  // Gives the reduction up: Wait answers `cancelled`, unless the outcome was already there.
  // Idempotent.
  void Cancel();

 private:
  friend class Client;
  friend class ClientAccess;
  struct State;
  explicit Reduction(std::shared_ptr<State> state);
  using Outcome = std::function<Result<ReduceOutcome>()>;
  void CallWhenReady(std::function<void(const Outcome&)> fn) const;
  std::shared_ptr<State> state_;
};

}  // namespace hoplite

// Future: an answer that is still to come. (`co_await` of one: coroutine.h.)
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/asked.h>
#include <hoplite/export.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

class Reduction;
template <typename T>
class Future;

namespace detail {
struct Futures;

// What OnReady calls.
template <typename F, typename T>
concept HearsOf = std::invocable<F&, Result<T>> || std::invocable<F&>;
template <typename E>
concept Executor = std::invocable<E&, std::function<void()>>;

template <typename T, typename F, typename Begin>
auto Continue(Future<T> before, F fn, Begin begin);
}  // namespace detail

// The answer to one request. Destroying it before the answer came cancels the request. All calls
// may come from any thread; a waiting thread sleeps.
//
// One that is empty (made by default, or moved from) is ready, and every Wait answers
// invalid_argument.
template <typename T>
class Future {
 public:
  using value_type = T;  // of the answer

  Future() = default;
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;

  // One that is ready, with this error.
  static Future Failed(Error error) {
    auto asked = std::make_unique<detail::Asked>(std::vector<detail::Asked*>());
    asked->Settle();
    return Future(std::make_shared<detail::FutureState<T>>(
        std::move(asked), [error = std::move(error)]() -> Result<T> { return Unexpected(error); }));
  }

  bool valid() const { return state_ != nullptr; }  // false: it is empty
  // Whether Wait would return at once.
  bool ready() const { return !state_ || state_->asked().ready(); }
  // The answer, each time it is asked for; one that can't be copied (a Reader, a Draft) once.
  //   timeout      not there yet; the request goes on, Wait again
  //   cancelled    Cancel was called, or the client was closed; or `stop` was asked to stop: then the
  //                request goes on
  //   unavailable  the connection to the node ended
  //   (the call's)  those of the call that made this future
  Result<T> Wait(std::chrono::milliseconds timeout = kForever,
                 const std::stop_token& stop = {}) const {
    if (!state_) return Unexpected(detail::EmptyFuture());
    return state_->Wait(timeout, stop);
  }
  Result<T> Wait(const std::stop_token& stop) const { return Wait(kForever, stop); }

  // Calls `fn` once, with the answer or without arguments, when Wait would return at once: the answer
  // is there, or an error is, which the deadline, Cancel, the client's Close and the end of the
  // connection bring, too. That is on the client's own thread, soon, also if it is so already; the
  // library holds no lock meanwhile. So `fn` must not throw, nor wait for anything: the answers of
  // this client, and its other functions, come after it. Calls that return at once are fine, this
  // Wait among them; one that would wait for this client is an invalid_argument.
  //
  // Once the future is destroyed `fn` is not running, and will not: the destructor waits for it,
  // unless it is called by `fn`. Several functions are called in the order in which they were
  // given. Where the client has no thread (its node was not there when the call was made, or this
  // is a forked child) the future is ready, and OnReady itself calls `fn`.
  template <detail::HearsOf<T> F>
  void OnReady(F fn) const {
    if constexpr (!std::invocable<F&, Result<T>>) {
      return state_ ? state_->asked().OnReady(detail::Copyable(std::move(fn))) : fn();
    } else if (state_) {
      state_->asked().OnReady(
          detail::Copyable([fn = std::move(fn), state = state_.get()]() mutable {
            fn(state->Wait(std::chrono::milliseconds(0), {}));
          }));
    } else {
      fn(Wait());
    }
  }
  // The same by an executor, where `fn` may wait: `executor(task)` has to call `task` once, on a
  // thread of its own choice, and is itself called as `fn` is above. A task that the executor has is
  // the executor's: it runs also when this future is destroyed meanwhile.
  template <detail::Executor E, detail::HearsOf<T> F>
  void OnReady(E executor, F fn) const {
    if constexpr (std::invocable<F&, Result<T>>) {
      OnReady([executor = std::move(executor), fn = std::move(fn)](Result<T> answer) mutable {
        executor(detail::Copyable(
            [fn = std::move(fn), answer = std::move(answer)]() mutable { fn(std::move(answer)); }));
      });
    } else {
      OnReady([executor = std::move(executor), fn = std::move(fn)]() mutable {
        executor(detail::Copyable(std::move(fn)));
      });
    }
  }
  // The future of what `fn` makes of the answer, a Result<T>: of a U if it gives a U or a Result<U>.
  // Takes this future over, which is empty then: `client.GetAsync(id).Then(Sum)`. `fn` is called as
  // OnReady says. Cancel of the new future, and destroying it, give this request up, too.
  template <std::invocable<Result<T>> F>
  auto Then(F fn) && {
    return detail::Continue(std::move(*this), std::move(fn),
                            [](const Future& before, auto run) { before.OnReady(run); });
  }
  // `fn` may wait: it is called by an executor, as OnReady says.
  template <detail::Executor E, std::invocable<Result<T>> F>
  auto Then(E executor, F fn) && {
    return detail::Continue(
        std::move(*this), std::move(fn),
        [&executor](const Future& before, auto run) { before.OnReady(std::move(executor), run); });
  }

  // Gives up: Wait answers `cancelled`, unless the answer was already there. Idempotent.
  void Cancel() {
    if (state_) state_->asked().Cancel();
  }

 private:
  friend struct detail::Futures;
  explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::FutureState<T>> state_;
};

namespace detail {

// What makes futures, and looks into them: the library, and the functions below.
struct Futures {
  template <typename T>
  static Future<T> Make(std::unique_ptr<Asked> asked, typename FutureState<T>::Read read) {
    return Future<T>(std::make_shared<FutureState<T>>(std::move(asked), std::move(read)));
  }
  template <typename T>
  static const std::shared_ptr<FutureState<T>>& StateOf(const Future<T>& future) {
    return future.state_;
  }
  // Null: it is empty.
  template <typename T>
  static Asked* AskedOf(const Future<T>& future) {
    return future.state_ ? &future.state_->asked() : nullptr;
  }
};

template <typename R>
struct ValueIn {
  using Type = R;
};
template <typename T>
struct ValueIn<Result<T>> {
  using Type = T;
};

// What becomes of one future's answer in the next.
template <typename T, typename F>
struct Continuation {
  using Given = std::remove_cvref_t<std::invoke_result_t<F&, Result<T>>>;
  using U = typename ValueIn<Given>::Type;

  Continuation(Future<T> before_in, F fn_in) : fn(std::move(fn_in)), before(std::move(before_in)) {}

  // Called once. What `fn` holds goes before anybody hears of the outcome.
  void Run(Result<T> answer) {
    if constexpr (std::is_void_v<Given>) {
      (*fn)(std::move(answer));
      outcome.emplace();
    } else {
      outcome.emplace((*fn)(std::move(answer)));
    }
    fn.reset();
  }

  std::optional<F> fn;
  std::optional<Result<U>> outcome;
  std::weak_ptr<FutureState<U>> after;
  Future<T> before;
};

// Begins it: `begin(before, run)` has `run` called with the answer.
template <typename T, typename F, typename Begin>
auto Continue(Future<T> before, F fn, Begin begin) {
  using Step = Continuation<T, F>;
  const auto step = std::make_shared<Step>(std::move(before), std::move(fn));
  std::vector<Asked*> asked;
  if (Asked* one = Futures::AskedOf(step->before)) asked.push_back(one);
  auto whole = std::make_unique<Asked>(std::move(asked));
  const Asked* outcome_of = whole.get();
  auto after = Futures::Make<typename Step::U>(std::move(whole),
                                               [step, outcome_of]() -> Result<typename Step::U> {
                                                 if (auto why = outcome_of->failure())
                                                   return Unexpected(*std::move(why));
                                                 return *std::move(step->outcome);
                                               });
  step->after = Futures::StateOf(after);
  begin(step->before, [weak = std::weak_ptr(step)](Result<T> answer) {
    const std::shared_ptr<Step> running = weak.lock();
    if (!running) return;
    running->Run(std::move(answer));
    if (const auto told = running->after.lock()) told->asked().Settle();
  });
  return after;
}

// The future of what `read` makes of these, when all are ready.
template <typename V, typename F>
Future<V> Together(std::vector<Asked*> asked, F read) {
  struct Waiting {
    std::atomic<std::size_t> left;
    std::weak_ptr<FutureState<V>> whole;
    void CountDown() {
      if (left.fetch_sub(1) > 1) return;
      if (const auto told = whole.lock()) told->asked().Settle();
    }
  };
  std::erase(asked, nullptr);  // empty ones, which are ready
  auto whole = std::make_unique<Asked>(asked);
  const Asked* outcome_of = whole.get();
  auto future = Futures::Make<V>(std::move(whole), [outcome_of, read]() -> Result<V> {
    if (auto why = outcome_of->failure()) return Unexpected(*std::move(why));
    return read();
  });
  const std::shared_ptr<Waiting> waiting(
      new Waiting{.left = asked.size() + 1, .whole = Futures::StateOf(future)});
  for (Asked* one : asked) one->OnReady([waiting] { waiting->CountDown(); });
  waiting->CountDown();
  return future;
}

}  // namespace detail

// All answers, in the order of the futures, which it takes over; errors are answers, too. Cancel, and
// destroying it, give up all that are not ready.
template <typename T>
Future<std::vector<Result<T>>> WhenAll(std::vector<Future<T>> futures) {
  const auto all = std::make_shared<std::vector<Future<T>>>(std::move(futures));
  std::vector<detail::Asked*> asked;
  for (const Future<T>& one : *all) asked.push_back(detail::Futures::AskedOf(one));
  return detail::Together<std::vector<Result<T>>>(std::move(asked), [all] {
    std::vector<Result<T>> answers;
    for (const Future<T>& one : *all) answers.push_back(one.Wait(std::chrono::milliseconds(0)));
    return answers;
  });
}
// Of several kinds: `WhenAll(std::move(get), std::move(put))`.
template <typename... T>
  requires(sizeof...(T) > 0)
Future<std::tuple<Result<T>...>> WhenAll(Future<T>... futures) {
  const auto all = std::make_shared<std::tuple<Future<T>...>>(std::move(futures)...);
  const auto asked = std::apply(
      [](const auto&... one) { return std::vector{detail::Futures::AskedOf(one)...}; }, *all);
  return detail::Together<std::tuple<Result<T>...>>(asked, [all] {
    return std::apply(
        [](const auto&... one) {
          return std::tuple<Result<T>...>(one.Wait(std::chrono::milliseconds(0))...);
        },
        *all);
  });
}

// A Future or a Reduction, which must outlive it.
class HOPLITE_EXPORT Waitable {
 public:
  template <typename T>
  Waitable(const Future<T>& future) : asked_(detail::Futures::AskedOf(future)) {}
  Waitable(const Reduction& reduction);

 private:
  friend class ClientAccess;
  const detail::Asked* asked_;  // null: it is empty
};

// The index of one that is ready (the lowest, if several are), errors being answers too. They may
// be of several clients, and of several kinds: `WaitAny({get, put, reduction}, 5s)`.
//   timeout           none became ready
//   cancelled         `stop` was asked to stop
//   invalid_argument  none were given
HOPLITE_EXPORT Result<std::size_t> WaitAny(std::span<const Waitable> any,
                                           std::chrono::milliseconds timeout = kForever,
                                           const std::stop_token& stop = {});
inline Result<std::size_t> WaitAny(std::initializer_list<Waitable> any,
                                   std::chrono::milliseconds timeout = kForever,
                                   const std::stop_token& stop = {}) {
  return WaitAny(std::span(any.begin(), any.size()), timeout, stop);
}
// A vector of futures, a span of reductions, …
template <std::ranges::input_range Any>
  requires std::convertible_to<std::ranges::range_reference_t<const Any>, Waitable>
Result<std::size_t> WaitAny(const Any& any, std::chrono::milliseconds timeout = kForever,
                            const std::stop_token& stop = {}) {
  const std::vector<Waitable> each(std::ranges::begin(any), std::ranges::end(any));
  return WaitAny(std::span(each), timeout, stop);
}

}  // namespace hoplite

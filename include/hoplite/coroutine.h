// co_await of a Future or a Reduction, in a coroutine of any type:
//
//   hoplite::Result<hoplite::Buffer> here = co_await client.GetAsync(id);
//   hoplite::Result<hoplite::Buffer> there = co_await hoplite::On(executor, client.GetAsync(id));
//
// No other header of Hoplite holds a coroutine, and hoplite.h does not include this one.
#pragma once

#if !defined(__cpp_impl_coroutine)
#error "hoplite/coroutine.h needs a compiler with C++20's coroutines"
#endif
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#error \
    "GCC before 13 destroys temporaries of co_await expressions twice: use GCC 13, Clang 17 or newer"
#endif

#include <chrono>
#include <coroutine>
#include <functional>
#include <utility>

#include <hoplite/future.h>
#include <hoplite/reduction.h>

namespace hoplite {
namespace detail {

// What co_await does with a request. `ready(run)` has `run` called when the request is ready.
template <typename Request, typename Ready>
struct Awaiter {
  Request request;
  Ready ready;

  bool await_ready() const { return false; }
  // The coroutine may be resumed, and its frame destroyed, before this returns.
  void await_suspend(std::coroutine_handle<> coroutine) {
    ready(request, std::function<void()>([coroutine] { coroutine.resume(); }));
  }
  auto await_resume() const { return request.Wait(std::chrono::milliseconds(0)); }
};

struct OnClientsThread {
  template <typename Request>
  void operator()(const Request& request, std::function<void()> run) const {
    request.OnReady(std::move(run));
  }
};

template <typename E>
struct OnExecutor {
  E executor;
  template <typename Request>
  void operator()(const Request& request, std::function<void()> run) {
    // It is resumed where nothing of this is used any more.
    request.OnReady([executor = std::move(executor), run = std::move(run)]() mutable {
      executor(std::move(run));
    });
  }
};

}  // namespace detail

// The coroutine goes on on the client's own thread, where it must not wait for anything, as a function
// that is given to OnReady must not. The future lives in the coroutine: one that is destroyed while
// it waits gives the request up.
template <typename T>
auto operator co_await(Future<T>&& future) {
  return detail::Awaiter<Future<T>, detail::OnClientsThread>{std::move(future), {}};
}
// Of a variable: it stays, and must outlive the wait.
template <typename T>
auto operator co_await(const Future<T>& future) {
  return detail::Awaiter<const Future<T>&, detail::OnClientsThread>{future, {}};
}
inline auto operator co_await(const Reduction& reduction) {
  return detail::Awaiter<const Reduction&, detail::OnClientsThread>{reduction, {}};
}

// The coroutine goes on where `executor(task)` runs its tasks, and may wait there. A coroutine must not
// be destroyed while the executor has its task.
template <detail::Executor E, typename T>
auto On(E executor, Future<T> future) {
  return detail::Awaiter<Future<T>, detail::OnExecutor<E>>{std::move(future),
                                                           {std::move(executor)}};
}

}  // namespace hoplite

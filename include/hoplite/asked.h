// What a Future is made of. Programs use future.h.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/export.h>
#include <hoplite/options.h>
#include <hoplite/result.h>

namespace hoplite {

class ClientAccess;
namespace client {
class Question;
}

namespace detail {

// What is under way behind a future, whatever its value is.
class HOPLITE_EXPORT Asked {
 public:
  // A request to a node, or to several things that are asked one after the other.
  Asked(std::unique_ptr<client::Question> question, std::string what);
  // Of a future that is made of these, which have to outlive it: Settle says that it is ready, and
  // Cancel gives them up, too.
  explicit Asked(std::vector<Asked*> before);
  ~Asked();
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool ready() const;
  // None: it is ready. Else why it is not, or can't be known here.
  std::optional<Error> Await(std::chrono::milliseconds timeout, const std::stop_token& stop) const;
  void OnReady(std::function<void()> fn) const;
  void Cancel();
  void Settle();
  std::optional<Error> failure() const;  // once it is ready: why there is no value
  // What OnReady was given is not running, and is not called any more.
  void Forget();
  // Nobody wants the answer.
  void Drop();

 private:
  friend class hoplite::ClientAccess;
  const std::unique_ptr<client::Question> question_;
  const std::string what_;
  const std::vector<Asked*> before_;
};

// A function that std::function takes, which copies.
template <typename F>
std::function<void()> Copyable(F fn) {
  if constexpr (std::is_trivially_copyable_v<F> || std::same_as<F, std::function<void()>>) {
    return fn;
  } else {
    return [shared = std::make_shared<F>(std::move(fn))] { (*shared)(); };
  }
}

// Whether an answer can be given more than once. (A vector says that it copies whatever it has.)
template <typename T>
inline constexpr bool kCopies = std::is_void_v<T> || std::copy_constructible<T>;
template <typename T>
inline constexpr bool kCopies<std::vector<Result<T>>> = kCopies<T>;

HOPLITE_EXPORT Error EmptyFuture();
HOPLITE_EXPORT Error TakenAnswer();

// What a Future<T> and its copies within the library share.
template <typename T>
class FutureState {
 public:
  using Read = std::function<Result<T>()>;  // of what is ready; called once

  FutureState(std::unique_ptr<Asked> asked, Read read)
      : asked_(std::move(asked)), read_(std::move(read)) {}
  ~FutureState() {
    asked_->Forget();
    if (!result_) asked_->Drop();
  }
  FutureState(const FutureState&) = delete;
  FutureState& operator=(const FutureState&) = delete;

  Asked& asked() { return *asked_; }

  Result<T> Wait(std::chrono::milliseconds timeout, const std::stop_token& stop) {
    if (std::optional<Error> why_not = asked_->Await(timeout, stop)) {
      return Unexpected(*std::move(why_not));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!result_) result_.emplace(read_());
    if constexpr (kCopies<T>) {
      return *result_;
    } else {
      Result<T> taken = *std::move(result_);
      result_.emplace(Unexpected(taken ? TakenAnswer() : taken.error()));
      return taken;
    }
  }

 private:
  const std::unique_ptr<Asked> asked_;
  const Read read_;
  std::mutex mutex_;
  std::optional<Result<T>> result_;  // made by the first thread that asks
};

}  // namespace detail
}  // namespace hoplite

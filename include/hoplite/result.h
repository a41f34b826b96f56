// Result: a value, or the Error because of which there is none. Every call of this library that can
// fail returns one.
//
// It has the interface of C++23's std::expected<T, Error>, and works in C++20. Two things differ, of
// a Result that is a temporary. value() and * give the value itself instead of a reference, so that
// `for (float x : *buffer.as<float>())` is safe; and -> does not compile where the value gives views
// that end with it.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>
#ifdef __cpp_lib_expected
#include <expected>  // C++23: std::unexpected makes a Result, too
#endif

#include <hoplite/error.h>
#include <hoplite/export.h>

namespace hoplite {

template <typename T>
class Result;

// Makes a Result that holds an error: `return hoplite::Unexpected(error);`. In C++23 std::unexpected
// does as well.
class Unexpected {
 public:
  explicit Unexpected(Error error) : error_(std::move(error)) {}
  // What the Result will hold.
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
};

// What value() of a Result that holds an error throws.
class HOPLITE_EXPORT BadResultAccess : public std::exception {
 public:
  explicit BadResultAccess(Error error) : error_(std::move(error)), what_(error_.ToString()) {}
  // Error::ToString of it.
  const char* what() const noexcept override { return what_.c_str(); }
  const Error& error() const { return error_; }  // what the Result held

 private:
  Error error_;
  std::string what_;
};

namespace detail {

template <typename T>
inline constexpr bool kIsResult = false;
template <typename T>
inline constexpr bool kIsResult<Result<T>> = true;
template <typename T>
concept AnyResult = kIsResult<std::remove_cvref_t<T>>;

// Unexpected and std::unexpected: an error, and never a value.
template <typename F>
concept Failure = !AnyResult<F> && !requires(F&& f) { f.has_value(); } && requires(F&& f) {
  { std::forward<F>(f).error() } -> std::convertible_to<Error>;
};

// What makes the value of a Result<T>.
template <typename U, typename T>
concept ValueOf = !AnyResult<U> && !Failure<U> && std::constructible_from<T, U> &&
                  !std::same_as<std::remove_cvref_t<U>, std::in_place_t>;

// What gives views (spans, texts, pointers) that end with it says so.
template <typename T>
concept EndsItsViews = requires { typename T::EndsItsViews; };
template <typename T>
concept OutlivesItsViews = !EndsItsViews<T>;

}  // namespace detail

// Done, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  using error_type = Error;
  using unexpected_type = Unexpected;

  Result() = default;
  template <detail::Failure F>
  Result(F&& failure) : error_(std::forward<F>(failure).error()) {}

  void emplace() { error_.reset(); }

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void operator*() const {}
  void value() const {
    if (error_) throw BadResultAccess(*error_);
  }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error error() && { return *std::move(error_); }

  template <typename F>
  auto and_then(F&& f) const {
    using Next = std::remove_cvref_t<std::invoke_result_t<F>>;
    return has_value() ? std::invoke(std::forward<F>(f)) : Next(Unexpected(*error_));
  }
  // A Result of what `f(args…)` gives; or this error.
  template <typename F, typename... Args>
  auto transform(F&& f, Args&&... args) const {
    using U = std::remove_cv_t<std::invoke_result_t<F, Args...>>;
    return and_then([&]() -> Result<U> {
      if constexpr (!std::is_void_v<U>) {
        return Result<U>(std::in_place, std::invoke(f, std::forward<Args>(args)...));
      } else {
        std::invoke(f, std::forward<Args>(args)...);
        return Result<U>();
      }
    });
  }
  template <typename F>
  Result or_else(F&& f) const {
    return has_value() ? *this : std::invoke(std::forward<F>(f), *error_);
  }

  friend bool operator==(const Result&, const Result&) = default;
  template <detail::Failure F>
  friend bool operator==(const Result& a, const F& failure) {
    return !a.has_value() && *a.error_ == failure.error();
  }

 private:
  std::optional<Error> error_;
};

// A value, or the Error because of which there is none. As std::expected<T, Error>, but for what is
// said above of temporaries.
template <typename T>
class [[nodiscard]] Result {
  using State = std::variant<T, Error>;

 public:
  using value_type = T;
  using error_type = Error;
  using unexpected_type = Unexpected;

  Result()
    requires std::default_initializable<T>
  = default;
  template <typename U = T>
    requires detail::ValueOf<U, T>
  explicit(!std::convertible_to<U, T>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <detail::Failure F>
  Result(F&& failure) : state_(std::in_place_index<1>, std::forward<F>(failure).error()) {}
  template <typename U>
    requires(!std::same_as<U, T> && std::constructible_from<T, U>)
  explicit(!std::convertible_to<U, T>) Result(Result<U> other)
      : state_(other ? State(std::in_place_index<0>, *std::move(other))
                     : State(std::in_place_index<1>, std::move(other).error())) {}
  template <typename... Args>
    requires std::constructible_from<T, Args...>
  explicit Result(std::in_place_t /*tag*/, Args&&... args)
      : state_(std::in_place_index<0>, std::forward<Args>(args)...) {}

  template <typename... Args>
    requires std::constructible_from<T, Args...>
  T& emplace(Args&&... args) {
    return state_.template emplace<0>(std::forward<Args>(args)...);
  }

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Only of a Result that has a value.
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() & { return std::get_if<0>(&state_); }
  const T* operator->() const& { return std::get_if<0>(&state_); }
  T* operator->() &&
    requires detail::OutlivesItsViews<T>
  {
    return std::get_if<0>(&state_);
  }
  const T* operator->() const&&
    requires detail::OutlivesItsViews<T>
  {
    return std::get_if<0>(&state_);
  }
  // Of a temporary: give the Result a name first.
  T* operator->() &&
    requires detail::EndsItsViews<T>
  = delete;
  const T* operator->() const&&
    requires detail::EndsItsViews<T>
  = delete;

  // Throws BadResultAccess if there is none.
  T& value() & { return Checked(), **this; }
  const T& value() const& { return Checked(), **this; }
  T value() && { return Checked(), *std::move(*this); }

  // Only of a Result that has none.
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error error() && { return std::move(*std::get_if<1>(&state_)); }

  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <typename U>
  T value_or(U&& other) && {
    return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(other));
  }

  // The Result of `f(value)`, which gives a Result; or this error.
  template <typename F>
  auto and_then(F&& f) const& {
    using Next = std::remove_cvref_t<std::invoke_result_t<F, const T&>>;
    return has_value() ? std::invoke(std::forward<F>(f), **this) : Next(Unexpected(error()));
  }
  template <typename F>
  auto and_then(F&& f) && {
    using Next = std::remove_cvref_t<std::invoke_result_t<F, T>>;
    return has_value() ? std::invoke(std::forward<F>(f), *std::move(*this))
                       : Next(Unexpected(std::move(*this).error()));
  }
  // A Result of what `f(value)` gives; or this error.
  template <typename F>
  auto transform(F&& f) const& {
    return and_then([&](const T& value) { return Result<void>().transform(f, value); });
  }
  template <typename F>
  auto transform(F&& f) && {
    return std::move(*this).and_then(
        [&](T value) { return Result<void>().transform(f, std::move(value)); });
  }
  // This value; or the Result of `f(error)`, which gives a Result<T>.
  template <typename F>
  Result or_else(F&& f) const& {
    return has_value() ? *this : std::invoke(std::forward<F>(f), error());
  }
  template <typename F>
  Result or_else(F&& f) && {
    return has_value() ? std::move(*this) : std::invoke(std::forward<F>(f), std::move(error()));
  }

  friend bool operator==(const Result& a, const Result& b)
    requires std::equality_comparable<T>
  {
    return a.state_ == b.state_;
  }
  template <typename U>
    requires(!detail::AnyResult<U> && !detail::Failure<U> &&
             requires(const T& a, const U& b) {
               { a == b } -> std::convertible_to<bool>;
             })
  friend bool operator==(const Result& a, const U& value) {
    return a.has_value() && *a == value;
  }
  template <detail::Failure F>
  friend bool operator==(const Result& a, const F& failure) {
    return !a.has_value() && a.error() == failure.error();
  }

 private:
  void Checked() const {
    if (!has_value()) throw BadResultAccess(error());
  }

  State state_;
};

}  // namespace hoplite

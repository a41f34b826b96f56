// The fields of a plain struct, one after another, so that what treats all of them alike (a
// fingerprint, a test) needs no list of them that somebody forgets to lengthen.
//
// For aggregates without bases and arrays, of at most twelve fields: the compiler says so where
// there are more.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace hoplite {

namespace fields_internal {

struct Anything {
  template <typename T>
  operator T() const;  // never called: only its type is looked at
};

template <typename T, typename... Given>
consteval std::size_t Count() {
  if constexpr (requires { T{std::declval<Given>()..., std::declval<Anything>()}; }) {
    return Count<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

}  // namespace fields_internal

template <typename T>
inline constexpr std::size_t kFieldCount = fields_internal::Count<std::remove_cvref_t<T>>();

// Calls `visit` with each field of `value`, in the order of their declaration.
template <typename T, typename Visit>
  requires std::is_aggregate_v<std::remove_cvref_t<T>>
constexpr void ForEachField(T&& value, Visit&& visit) {
  constexpr std::size_t n = kFieldCount<T>;
  static_assert(n <= 12, "lengthen ForEachField");
  const auto each = [&visit](auto&... field) { (visit(field), ...); };
  if constexpr (n == 1) {
    auto& [a] = value;
    each(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = value;
    each(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = value;
    each(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = value;
    each(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = value;
    each(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = value;
    each(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    each(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    each(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    each(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    each(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    each(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    each(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

}  // namespace hoplite

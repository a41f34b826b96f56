// Elements: objects as arrays of numbers, without casts.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// A number: what an array of an object may have as elements.
template <typename T>
concept Element = std::is_arithmetic_v<T>;

// A vector, span or array of numbers. Text and bytes are none: calls take them as they are.
template <typename R>
concept Elements =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::ranges::range_value_t<R>> && !std::convertible_to<R, std::string_view> &&
    !std::convertible_to<R, std::span<const std::byte>>;

// The same, of elements that may be written to.
template <typename R>
concept WritableElements =
    Elements<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {
HOPLITE_EXPORT Result<void> CheckElements(std::span<const std::byte> bytes, std::size_t size,
                                          std::size_t alignment);
}  // namespace detail

// These bytes as numbers of type T; nothing is copied.
//   invalid_argument  they are no whole numbers, or begin where no T may (objects and drafts begin
//                     at a multiple of 64 bytes): says so
template <Element T>
Result<std::span<const T>> ElementsOf(std::span<const std::byte> bytes) {
  return detail::CheckElements(bytes, sizeof(T), alignof(T)).transform([&] {
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  });
}
template <Element T>
Result<std::span<T>> ElementsOf(std::span<std::byte> bytes) {
  return detail::CheckElements(bytes, sizeof(T), alignof(T)).transform([&] {
    return std::span(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
  });
}

}  // namespace hoplite

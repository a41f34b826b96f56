// Elements: objects as arrays of numbers, without casts.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <hoplite/dtype.h>
#include <hoplite/export.h>
#include <hoplite/result.h>

namespace hoplite {

// A number.
template <typename T>
concept Element = std::is_arithmetic_v<T>;

// A struct whose bytes are its value: std::complex, a struct of numbers. No pointers must be in it,
// which nothing checks: they mean nothing to who gets it. Padding travels along.
template <typename T>
concept Plain = std::is_class_v<T> && std::is_trivially_copyable_v<T> && !std::ranges::range<T>;

// What an array of an object may have as elements.
template <typename T>
concept Storable = Element<T> || Plain<T>;

// A vector, span or array of numbers or plain structs. Text and bytes are none: calls take them as they are.
template <typename R>
concept Elements =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Storable<std::ranges::range_value_t<R>> && !std::convertible_to<R, std::string_view> &&
    !std::convertible_to<R, std::span<const std::byte>>;

// The same, of elements that may be written to.
template <typename R>
concept WritableElements =
    Elements<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {
template <typename T, typename... Others>
concept OneOf = (std::same_as<T, Others> || ...);

// What a Put of such elements notes. None: they may be bytes of anything (std::uint8_t), or are no
// DType.
template <Storable T>
constexpr std::optional<DType> DTypeOf() {
  if constexpr (std::same_as<T, float>) {
    return DType::kFloat32;
  } else if constexpr (std::same_as<T, double>) {
    return DType::kFloat64;
  } else if constexpr (std::same_as<T, signed char>) {
    return DType::kInt8;
  } else if constexpr (!std::integral<T> || sizeof(T) == 1 ||
                       OneOf<T, wchar_t, char16_t, char32_t>) {
    return {};
  } else if constexpr (sizeof(T) == 2) {
    return std::is_signed_v<T> ? DType::kInt16 : DType::kUint16;
  } else if constexpr (sizeof(T) == 4) {
    return std::is_signed_v<T> ? DType::kInt32 : DType::kUint32;
  } else if constexpr (sizeof(T) == 8) {
    return std::is_signed_v<T> ? DType::kInt64 : DType::kUint64;
  }
}

HOPLITE_EXPORT Result<void> CheckElements(std::span<const std::byte> bytes, std::size_t size,
                                          std::size_t alignment);
}  // namespace detail

// These bytes as numbers of type T; nothing is copied.
//   invalid_argument  they are no whole numbers, or begin where no T may (objects and drafts begin
//                     at a multiple of 64 bytes): says so
template <Storable T>
Result<std::span<const T>> ElementsOf(std::span<const std::byte> bytes) {
  return detail::CheckElements(bytes, sizeof(T), alignof(T)).transform([&] {
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  });
}
template <Storable T>
Result<std::span<T>> ElementsOf(std::span<std::byte> bytes) {
  return detail::CheckElements(bytes, sizeof(T), alignof(T)).transform([&] {
    return std::span(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
  });
}

}  // namespace hoplite

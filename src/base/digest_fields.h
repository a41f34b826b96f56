// Adds a whole value to a Digest: every field of a struct, every element of a container, what a
// shared pointer points to.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "base/digest.h"
#include "base/fields.h"
#include "base/time.h"

namespace hoplite {

template <typename T>
void AddFields(Digest& digest, const T& value) {
  if constexpr (std::is_same_v<T, Duration>) {
    digest.Add(value.count());
  } else if constexpr (std::is_same_v<T, double>) {
    digest.Add(std::bit_cast<std::uint64_t>(value));
  } else if constexpr (requires { digest.Add(value); }) {
    digest.Add(value);
  } else if constexpr (requires { value.get(); }) {
    digest.Add(value != nullptr);
    if (value != nullptr) AddFields(digest, *value);
  } else if constexpr (requires { value.has_value(); }) {
    digest.Add(value.has_value());
    if (value) AddFields(digest, *value);
  } else if constexpr (std::ranges::sized_range<const T>) {
    for (const auto& element : value) AddFields(digest, element);
    digest.Add(value.size());
  } else {
    ForEachField(value, [&digest](const auto& field) { AddFields(digest, field); });
  }
}

}  // namespace hoplite

#include "directory/word_bytes.h"

#include <concepts>
#include <ranges>
#include <string>
#include <type_traits>
#include <variant>

#include "base/fields.h"

namespace hoplite::directory {
namespace {

// Ids, stamps, small numbers and the frame around them.
constexpr std::size_t kFixed = 64;
constexpr std::size_t kPerNumber = 5;  // of a list
constexpr std::size_t kPerPart = 48;   // of a list of other things: an id, a version, a frame

// What a value has besides: texts, bytes and lists, wherever they lie in it.
template <typename T>
std::size_t BytesIn(const T& value) {
  std::size_t bytes = 0;
  if constexpr (std::same_as<T, std::string>) {
    bytes = value.size();
  } else if constexpr (requires { value.has_value(); }) {
    if (value) bytes = BytesIn(*value);
  } else if constexpr (requires { value.get(); }) {
    if (value != nullptr) bytes = BytesIn(*value);
  } else if constexpr (std::ranges::sized_range<const T>) {
    using Element = std::ranges::range_value_t<const T>;
    for (const Element& element : value) {
      bytes += std::is_arithmetic_v<Element> ? kPerNumber : kPerPart + BytesIn(element);
    }
  } else if constexpr (std::is_aggregate_v<T> && !std::derived_from<T, Stamp>) {
    ForEachField(value, [&bytes](const auto& field) { bytes += BytesIn(field); });
  } else if constexpr (requires { value.message; }) {
    bytes = value.message.size();
  }
  return bytes;
}

}  // namespace

std::size_t WordBytes(const protocol::NodeEvent& event) {
  return kFixed + std::visit([](const auto& said) { return BytesIn(said); }, event);
}

std::size_t WordBytes(const protocol::NodeAction& action) {
  return kFixed + std::visit([](const auto& said) { return BytesIn(said); }, action);
}

}  // namespace hoplite::directory

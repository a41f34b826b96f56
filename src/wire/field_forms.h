// The forms of fields (message_fields.h): how each type of member lies in a message, and what it may
// be. What can't be is refused, with a sentence that names the field.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/limits.h"
#include "base/shard_list.h"
#include "base/time.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"
#include "protocol/views.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

std::string BeyondLimit(std::size_t size, std::size_t most);

// --- by type

// A struct that has a list is a message of its own.
template <typename T>
struct Form {
  static void Write(const T& value, const auto& to) { WriteFields(value, to.edit()); }
  static bool Read(const auto& from, T& value) {
    return ReadFields(from.part(), value, from.wrong) || from.Refuse("is wrong: " + from.wrong);
  }
};

template <typename T>
  requires std::is_arithmetic_v<T>
struct Form<T> {
  static void Write(T value, const auto& to) { to.set(value); }
  static bool Read(const auto& from, T& value) {
    value = from.get();
    return true;
  }
};

template <>
struct Form<std::string> {
  static void Write(const std::string& value, const auto& to) { to.set(value); }
  static bool Read(const auto& from, std::string& value) {
    if (!from.get().empty()) value = std::move(from.part());
    return true;
  }
};

// The enumerators have consecutive numbers.
template <typename Enum>
struct Range {
  Enum first;
  Enum last;
};
template <typename Enum>
inline constexpr auto kRange = nullptr;
template <>
inline constexpr Range kRange<ErrorCode>{ErrorCode::kInvalidArgument, kLastErrorCode};
#define RANGE(Enum, first, last)        \
  template <>                           \
  inline constexpr Range kRange<Enum> { \
    Enum::first, Enum::last             \
  }

template <typename T>
  requires std::is_enum_v<T>
struct Form<T> {
  static void Write(T value, const auto& to) { to.set(static_cast<std::uint32_t>(value)); }
  static bool Read(const auto& from, T& value) {
    constexpr auto kFirst = static_cast<std::uint32_t>(kRange<T>.first);
    constexpr auto kLast = static_cast<std::uint32_t>(kRange<T>.last);
    const std::uint32_t number = from.get();
    value = static_cast<T>(number);
    return (number >= kFirst && number <= kLast) ||
           from.Refuse("has the unknown value " + std::to_string(number));
  }
};

template <>
struct Form<NodeId> {
  static void Write(NodeId value, const auto& to) { to.set(Raw(value)); }
  static bool Read(const auto& from, NodeId& value) {
    value = NodeId{from.get()};
    return true;
  }
};

Result<ObjectId> ReadObject(const std::string& bytes);
template <>
struct Form<ObjectId> {
  static void Write(const ObjectId& value, const auto& to) { to.set(std::string(value.view())); }
  static bool Read(const auto& from, ObjectId& value) {
    const Result<ObjectId> id = ReadObject(from.get());
    if (id) {
      value = *id;
    } else {
      from.wrong = id.error().message;
    }
    return id.has_value();
  }
};

// No stamp reaches this. Incarnations are times in microseconds and sequences are counts; one at
// the end of its range would leave no next one.
inline constexpr std::uint64_t kStampEnd = std::uint64_t{1} << 63;
// A version or grant that the message must have.
template <std::derived_from<Stamp> T>
struct Form<T> {
  static void Write(const T& value, const auto& to) {
    to.edit().set_incarnation(value.incarnation);
    to.edit().set_sequence(value.sequence);
  }
  static bool Read(const auto& from, T& value) {
    value = T{{from.get().incarnation(), from.get().sequence()}};
    if (!value) return from.Refuse("is missing");
    return std::max(value.incarnation, value.sequence) < kStampEnd ||
           from.Refuse("is out of range");
  }
};

std::uint64_t Microseconds(Duration duration);  // rounded up: a time that remains is not cut to 0
// A duration has at most a year, so that sums with it stay in range.
template <>
struct Form<Duration> {
  static constexpr std::chrono::microseconds kLongest = std::chrono::hours(24 * 365);
  static void Write(Duration value, const auto& to) { to.set(Microseconds(value)); }
  static bool Read(const auto& from, Duration& value) {
    if (std::cmp_greater(from.get(), kLongest.count())) {
      return from.Refuse("is longer than a year");
    }
    value = std::chrono::microseconds(from.get());
    return true;
  }
};

// A time is of a clock that another process has.
template <>
struct Form<Time> {
  static constexpr std::chrono::microseconds kLatest = std::chrono::hours(24 * 365 * 100);
  static void Write(Time value, const auto& to) { to.set(Microseconds(value.time_since_epoch())); }
  static bool Read(const auto& from, Time& value) {
    if (std::cmp_greater(from.get(), kLatest.count())) {
      return from.Refuse("is later than a hundred years");
    }
    value = Time{std::chrono::microseconds(from.get())};
    return true;
  }
};

template <>
struct Form<StripeMarks> {
  static void Write(const StripeMarks& value, const auto& to) {
    to.edit().Assign(value.begin(), value.end());
  }
  static bool Read(const auto& from, StripeMarks& value) {
    const auto& marks = from.get();
    if (std::cmp_greater(marks.size(), kMaxStripes)) {
      return from.Refuse(BeyondLimit(static_cast<std::size_t>(marks.size()), kMaxStripes));
    }
    value = StripeMarks(marks.begin(), marks.end());
    return true;
  }
};

// The bytes are those of an object that lives in the directory; null stands for none.
template <>
struct Form<protocol::InlineBytes> {
  static void Write(const protocol::InlineBytes& value, const auto& to) {
    if (value != nullptr) to.set(*value);
  }
  static bool Read(const auto& from, protocol::InlineBytes& value) {
    if constexpr (requires { from.has(); }) {
      if (!from.has()) return true;
    }
    std::string& bytes = from.part();
    if (bytes.size() > kMaxInlineBytes) {
      return from.Refuse(BeyondLimit(bytes.size(), kMaxInlineBytes));
    }
    value = std::make_shared<const std::string>(std::move(bytes));
    return true;
  }
};

// A field that has several elements gives each to its form through these.
template <typename T>
struct ToElement {
  T& element;

  void set(auto&& value) const { element = std::forward<decltype(value)>(value); }
  T& edit() const { return element; }
};
template <typename Field, typename T>
struct FromElement {
  const Field& field;
  T& element;
  std::string& wrong;

  bool Refuse(std::string_view why) const { return field.Refuse(why); }
  const T& get() const { return element; }
  T& part() const { return element; }
};

template <typename T>
struct Form<std::vector<T>> {
  static void Write(const std::vector<T>& values, const auto& to) {
    for (const T& value : values) Form<T>::Write(value, ToElement{*to.edit().Add()});
  }
  static bool Read(const auto& from, std::vector<T>& values) {
    values.reserve(static_cast<std::size_t>(from.get().size()));
    for (auto& element : from.part()) {
      if (!Form<T>::Read(FromElement{from, element, from.wrong}, values.emplace_back()))
        return false;
    }
    return true;
  }
};

// --- by name

// A field without a mark of its own is absent if it is empty, or 0.
bool IsThere(const auto& from) {
  if constexpr (requires { from.has(); }) {
    return from.has();
  } else if constexpr (requires { from.get().empty(); }) {
    return !from.get().empty();
  } else {
    return from.get() != 0;
  }
}

// An optional member is absent where the field is; else it has that form.
template <typename Inner = ByType>
struct Maybe {
  template <typename T>
  static void Write(const std::optional<T>& value, const auto& to) {
    if (value) Inner::Write(*value, to);
  }
  template <typename T>
  static bool Read(const auto& from, std::optional<T>& value) {
    return !IsThere(from) || Inner::Read(from, value.emplace());
  }
};
template <typename T>
struct Form<std::optional<T>> : Maybe<> {};

// An absent field leaves the member as it is.
struct OrDefault : ByType {
  static bool Read(const auto& from, auto& value) {
    return !IsThere(from) || ByType::Read(from, value);
  }
};

// Where the value itself says that it is none, the field is absent.
inline bool IsNone(const Stamp& stamp) { return !stamp; }
inline bool IsNone(const Layout& layout) { return layout.block_bytes == 0; }
inline bool IsNone(const protocol::ShardFold& fold) { return fold.sources.empty(); }
inline bool IsNone(const protocol::ShardMembers& members) { return members.addresses.empty(); }
struct OrNone : OrDefault {
  static void Write(const auto& value, const auto& to) {
    if (!IsNone(value)) ByType::Write(value, to);
  }
};

// A stamp that may be none, and is written all the same.
struct OrZero : ByType {
  static bool Read(const auto& from, auto& stamp) {
    return from.get().incarnation() == 0 || ByType::Read(from, stamp);
  }
};

// The field must not be 0.
struct Given : ByType {
  static bool Read(const auto& from, auto& value) {
    return from.get() == 0 ? from.Refuse("is missing") : ByType::Read(from, value);
  }
};

// A text has at most so many bytes, or a field so many elements.
template <std::size_t most>
struct AtMost : ByType {
  static bool Read(const auto& from, auto& value) {
    const auto size = static_cast<std::size_t>(from.get().size());
    return size > most ? from.Refuse(BeyondLimit(size, most)) : ByType::Read(from, value);
  }
};

inline constexpr std::size_t kMaxNameBytes = 255;
bool IsName(std::string_view text);
struct NameText : ByType {
  static bool Read(const auto& from, std::string& name) {
    return IsName(from.get()) ? ByType::Read(from, name)
                              : from.Refuse("must be 1 to 255 bytes of text");
  }
};
struct NameOrEmpty : NameText {
  static bool Read(const auto& from, std::string& name) {
    return from.get().empty() || NameText::Read(from, name);
  }
};

bool IsAddress(const std::string& text);
struct Address : ByType {
  static bool Read(const auto& from, std::string& address) {
    return IsAddress(from.get()) ? ByType::Read(from, address)
                                 : from.Refuse("has no address of the form HOST:PORT");
  }
};

bool IsMetadata(std::string_view bytes);
struct Metadata : ByType {
  static bool Read(const auto& from, std::string& metadata) {
    return IsMetadata(from.get()) ? ByType::Read(from, metadata)
                                  : from.Refuse(BeyondLimit(from.get().size(), kMaxMetadataBytes));
  }
};

// --- parts of several messages

FIELDS(Layout, FIELD(size_bytes), FIELD(block_bytes), FIELD(run_bytes), FIELD(stripe_count),
       Check<&Layout::Validate>());
FIELDS(protocol::NodeInfo, FIELD(id, Given), FIELD(name, NameText), FIELD(address, Address),
       FIELD(site, NameOrEmpty), Unsent<&protocol::NodeInfo::link_bytes_per_second>());
FIELDS(ProcessUse, FIELD(version, NameOrEmpty), FIELD(resident_bytes), FIELD(descriptors),
       FIELD(descriptor_limit), FIELD_AS(processor_time, processor_us));
Result<void> MembersAreOfOneShard(const protocol::ShardMembers& members);
FIELDS(protocol::ShardMembers, FIELD(addresses, AtMost<kMaxMembers>), FIELD(holder),
       FIELD(silent, AtMost<kMaxMembers>), Check<MembersAreOfOneShard>());
FIELDS(protocol::StoreUsage, FIELD(memory_bytes), FIELD(used_bytes), FIELD(corrupt_blocks),
       FIELD(received_bytes), FIELD(sent_bytes), FIELD(told_at_us), FIELD(disk_bytes),
       FIELD(disk_used_bytes), FIELD(process));

}  // namespace hoplite::wire

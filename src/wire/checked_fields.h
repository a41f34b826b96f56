// The fields that several messages of the directory share: written, and read with checks. An error
// is of code `protocol` and names the field.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/repeated_field.h>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/layout.h"
#include "base/time.h"
#include "hoplite/v1/parts.pb.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"

namespace hoplite::wire {

inline constexpr std::size_t kMaxNameBytes = 255;

std::unexpected<Error> Bad(std::string_view field, std::string_view why);

void WriteStamp(const Stamp& stamp, v1::Stamp& to);
void WriteLayout(const Layout& layout, v1::Layout& to);
void WriteNode(const protocol::NodeInfo& node, v1::NodeInfo& to);
void WriteUsage(const protocol::StoreUsage& usage, v1::StoreUsage& to);
std::uint64_t Microseconds(Duration duration);  // rounded up: a time that remains is not cut to 0

Result<ObjectId> ReadObject(const std::string& bytes);
// No stamp reaches this. Incarnations are times in microseconds and sequences are counts; one at
// the end of its range would leave no next one.
inline constexpr std::uint64_t kStampEnd = std::uint64_t{1} << 63;
// A version or grant that the message must have.
template <std::derived_from<Stamp> T>
Result<T> ReadStamp(const v1::Stamp& stamp, std::string_view field) {
  if (stamp.incarnation() == 0) return Bad(field, "is missing");
  if (std::max(stamp.incarnation(), stamp.sequence()) >= kStampEnd) {
    return Bad(field, "is out of range");
  }
  return T{{stamp.incarnation(), stamp.sequence()}};
}
Result<Layout> ReadLayout(const v1::Layout& layout);
Result<StripeMarks> ReadMarks(const google::protobuf::RepeatedField<std::uint32_t>& marks);
Result<std::string> ReadName(const std::string& name, std::string_view field);
Result<std::string> ReadMetadata(std::string& bytes);
// Of an object that lives in the directory.
Result<protocol::InlineBytes> ReadInlineBytes(std::string& bytes, std::string_view field);
// At most so many.
Result<std::vector<ObjectId>> ReadObjects(
    const google::protobuf::RepeatedPtrField<std::string>& ids, std::size_t most,
    std::string_view field);
protocol::StoreUsage ReadUsage(const v1::StoreUsage& usage);
Result<protocol::NodeInfo> ReadNode(const v1::NodeInfo& node, std::string_view field);
// At most a year, so that sums with it stay in range.
Result<Duration> ReadDuration(std::uint64_t microseconds, std::string_view field);
// Of a clock that another process has.
Result<Time> ReadTime(std::uint64_t microseconds, std::string_view field);
Result<ErrorCode> ReadErrorCode(std::uint32_t code);
// Enums whose values are consecutive.
template <typename Enum>
Result<Enum> ReadEnum(std::uint32_t value, Enum first, Enum last, std::string_view field) {
  if (value < static_cast<std::uint32_t>(first) || value > static_cast<std::uint32_t>(last)) {
    return Bad(field, "has the unknown value " + std::to_string(value));
  }
  return static_cast<Enum>(value);
}

}  // namespace hoplite::wire

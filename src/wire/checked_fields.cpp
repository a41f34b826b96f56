#include "wire/checked_fields.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "base/try.h"
#include "protocol/elements.h"

namespace hoplite::wire {

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
  return std::unexpected(Error(ErrorCode::kProtocol, fmt::format("field '{}' {}", field, why)));
}

void WriteStamp(const Stamp& stamp, v1::Stamp& to) {
  to.set_incarnation(stamp.incarnation);
  to.set_sequence(stamp.sequence);
}

void WriteLayout(const Layout& layout, v1::Layout& to) {
  to.set_size_bytes(layout.size_bytes);
  to.set_block_bytes(layout.block_bytes);
  to.set_run_bytes(layout.run_bytes);
  to.set_stripe_count(layout.stripe_count);
}

void WriteNode(const protocol::NodeInfo& node, v1::NodeInfo& to) {
  to.set_id(Raw(node.id));
  to.set_name(node.name);
  to.set_address(node.address);
  to.set_site(node.site);
}

void WriteUsage(const protocol::StoreUsage& usage, v1::StoreUsage& to) {
  to.set_memory_bytes(usage.memory_bytes);
  to.set_used_bytes(usage.used_bytes);
  to.set_corrupt_blocks(usage.corrupt_blocks);
  to.set_received_bytes(usage.received_bytes);
  to.set_sent_bytes(usage.sent_bytes);
  to.set_told_at_us(usage.told_at_us);
}

std::uint64_t Microseconds(Duration duration) {
  const auto rounded = std::chrono::ceil<std::chrono::microseconds>(duration).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(rounded, 0));
}

Result<ObjectId> ReadObject(const std::string& bytes) {
  Result<ObjectId> id = ObjectId::FromBytes(bytes);
  if (!id) {
    return Bad("object", fmt::format("has {} bytes, an id has {}", bytes.size(), ObjectId::kBytes));
  }
  return id;
}

Result<Layout> ReadLayout(const v1::Layout& layout) {
  const Layout result{.size_bytes = layout.size_bytes(),
                      .block_bytes = layout.block_bytes(),
                      .run_bytes = layout.run_bytes(),
                      .stripe_count = layout.stripe_count()};
  if (const Result<void> valid = result.Validate(); !valid) {
    return Bad("layout", "cannot be: " + valid.error().message);
  }
  return result;
}

Result<StripeMarks> ReadMarks(const google::protobuf::RepeatedField<std::uint32_t>& marks) {
  if (marks.size() > static_cast<int>(kMaxStripes)) {
    return Bad("marks", fmt::format("has {} entries, an object has at most {} stripes",
                                    marks.size(), kMaxStripes));
  }
  return StripeMarks(marks.begin(), marks.end());
}

Result<std::string> ReadName(const std::string& name, std::string_view field) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > kMaxNameBytes || std::ranges::any_of(name, control)) {
    return Bad(field, fmt::format("must be 1 to {} bytes of text", kMaxNameBytes));
  }
  return name;
}

Result<protocol::InlineBytes> ReadInlineBytes(std::string& bytes, std::string_view field) {
  if (bytes.size() > kMaxInlineBytes) {
    return Bad(field, fmt::format("has {} bytes, the limit is {}", bytes.size(), kMaxInlineBytes));
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

Result<std::vector<ObjectId>> ReadObjects(
    const google::protobuf::RepeatedPtrField<std::string>& ids, std::size_t most,
    std::string_view field) {
  if (std::cmp_greater(ids.size(), most)) {
    return Bad(field, fmt::format("has {} entries, the limit is {}", ids.size(), most));
  }
  std::vector<ObjectId> read;
  for (const std::string& id : ids) {
    TRY_ASSIGN(read.emplace_back(), ReadObject(id));
  }
  return read;
}

Result<std::string> ReadMetadata(std::string& bytes) {
  const std::size_t size = protocol::UsersPart(bytes).size();
  if (size > kMaxMetadataBytes) {
    return Bad("metadata", fmt::format("has {} bytes, the limit is {}", size, kMaxMetadataBytes));
  }
  return std::move(bytes);
}

protocol::StoreUsage ReadUsage(const v1::StoreUsage& usage) {
  return {.memory_bytes = usage.memory_bytes(),
          .used_bytes = usage.used_bytes(),
          .corrupt_blocks = usage.corrupt_blocks(),
          .received_bytes = usage.received_bytes(),
          .sent_bytes = usage.sent_bytes(),
          .told_at_us = usage.told_at_us()};
}

Result<protocol::NodeInfo> ReadNode(const v1::NodeInfo& node, std::string_view field) {
  protocol::NodeInfo result;
  result.id = NodeId{node.id()};
  if (result.id == kNoNode) return Bad(field, "names no node");
  TRY_ASSIGN(result.name, ReadName(node.name(), field));
  if (node.address().size() > kMaxNameBytes || !ParseHostPort(node.address())) {
    return Bad(field, "has no address of the form HOST:PORT");
  }
  result.address = node.address();
  if (!node.site().empty()) {
    TRY_ASSIGN(result.site, ReadName(node.site(), field));
  }
  return result;
}

Result<Duration> ReadDuration(std::uint64_t microseconds, std::string_view field) {
  constexpr std::chrono::microseconds kLongest = std::chrono::hours(24 * 365);
  if (microseconds > static_cast<std::uint64_t>(kLongest.count())) {
    return Bad(field, "is longer than a year");
  }
  return std::chrono::microseconds(microseconds);
}

Result<Time> ReadTime(std::uint64_t microseconds, std::string_view field) {
  constexpr std::chrono::microseconds kLatest = std::chrono::hours(24 * 365 * 100);
  if (microseconds > static_cast<std::uint64_t>(kLatest.count())) {
    return Bad(field, "is later than a hundred years");
  }
  return Time{std::chrono::microseconds(microseconds)};
}

Result<ErrorCode> ReadErrorCode(std::uint32_t code) {
  return ReadEnum(code, ErrorCode::kInvalidArgument, kLastErrorCode, "code");
}

}  // namespace hoplite::wire

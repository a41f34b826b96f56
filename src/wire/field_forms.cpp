#include "wire/field_forms.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "protocol/elements.h"

namespace hoplite::wire {

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
  return std::unexpected(Error(ErrorCode::kProtocol, fmt::format("field '{}' {}", field, why)));
}

bool Refuse(std::string& wrong, std::string_view field, std::string_view why) {
  wrong = fmt::format("field '{}' {}", field, why);
  return false;
}

std::string BeyondLimit(std::size_t size, std::size_t most) {
  return fmt::format("has a size of {}, the limit is {}", size, most);
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

bool IsName(std::string_view text) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return !text.empty() && text.size() <= kMaxNameBytes && std::ranges::none_of(text, control);
}

bool IsAddress(const std::string& text) {
  return text.size() <= kMaxNameBytes && ParseHostPort(text);
}

Result<void> MembersAreOfOneShard(const protocol::ShardMembers& members) {
  const auto& addresses = members.addresses;
  const auto listed = [&](const std::string& one) {
    return std::ranges::count(addresses, one) > 0;
  };
  const auto twice = [&](const std::string& one) { return std::ranges::count(addresses, one) > 1; };
  if (!std::ranges::all_of(addresses, IsAddress)) {
    return Bad("addresses", "has no addresses of the form HOST:PORT");
  }
  if (std::ranges::any_of(addresses, twice)) return Bad("addresses", "has one twice");
  if (!members.holder.empty() && !listed(members.holder)) {
    return Bad("holder", "is none of the members");
  }
  if (std::ranges::all_of(members.silent, listed)) return {};
  return Bad("silent", "has one that is no member");
}

bool IsMetadata(std::string_view bytes) {
  return protocol::UsersPart(bytes).size() <= kMaxMetadataBytes;
}

}  // namespace hoplite::wire

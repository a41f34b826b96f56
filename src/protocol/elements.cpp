#include "protocol/elements.h"

#include "protocol/object_name.h"

namespace hoplite::protocol {
namespace {

constexpr std::size_t kNoteBytes = kElementsMark.size() + 1;

bool HasNote(std::string_view metadata) {
  return metadata.size() >= kNoteBytes && metadata.starts_with(kElementsMark);
}

}  // namespace

std::string WithElements(std::optional<DType> dtype, std::string_view users) {
  std::string metadata;
  if (dtype) {
    metadata.reserve(kNoteBytes + users.size());
    metadata += kElementsMark;
    metadata += static_cast<char>(*dtype);
  }
  metadata += users;
  return metadata;
}

std::optional<DType> ElementsIn(std::string_view metadata) {
  metadata = WithoutName(metadata);
  if (!HasNote(metadata)) return {};
  const auto dtype = static_cast<DType>(metadata[kElementsMark.size()]);
  return SizeOf(dtype) != 0 ? std::optional(dtype) : std::nullopt;
}

std::string_view UsersPart(std::string_view metadata) {
  metadata = WithoutName(metadata);
  return HasNote(metadata) ? metadata.substr(kNoteBytes) : metadata;
}

}  // namespace hoplite::protocol

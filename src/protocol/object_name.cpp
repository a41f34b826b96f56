#include "protocol/object_name.h"

#include "base/object_names.h"

namespace hoplite::protocol {
namespace {

// The mark, the number of the name's bytes, and the name; 0: there is no name.
std::size_t NoteBytes(std::string_view metadata) {
  if (metadata.size() <= kNameMark.size() || !metadata.starts_with(kNameMark)) return 0;
  const auto bytes = static_cast<unsigned char>(metadata[kNameMark.size()]);
  const std::size_t note = kNameMark.size() + 1 + bytes;
  return note <= metadata.size() ? note : 0;
}

}  // namespace

std::string WithName(std::string_view name, std::string_view metadata) {
  std::string noted;
  if (!name.empty()) {
    noted.reserve(kNameMark.size() + 1 + name.size() + metadata.size());
    noted += kNameMark;
    noted += static_cast<char>(name.size());
    noted += name;
  }
  noted += metadata;
  return noted;
}

std::string_view ToldName(std::string_view metadata) {
  const std::size_t note = NoteBytes(metadata);
  return note == 0 ? "" : metadata.substr(0, note).substr(kNameMark.size() + 1);
}

std::string_view NameIn(std::string_view metadata, const ObjectId& object) {
  const std::string_view name = ToldName(metadata);
  return name.empty() || IdOfName(name) != object ? "" : name;
}

std::string_view WithoutName(std::string_view metadata) {
  return metadata.substr(NoteBytes(metadata));
}

}  // namespace hoplite::protocol

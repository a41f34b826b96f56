#include "client/channel/manifest.h"

#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "hoplite/v1/channel.pb.h"

namespace hoplite::client {
namespace {

using Length = std::uint64_t;

void Write(const Place& place, v1::channel::Manifest::Place& message) {
  message.set_object(place.object);
  message.set_offset(place.offset);
  message.set_size_bytes(place.size_bytes);
}

Place Read(const v1::channel::Manifest::Place& message) {
  return {message.object(), message.offset(), message.size_bytes()};
}

Length LengthAt(std::span<const std::byte> begin) {
  Length length = 0;
  std::memcpy(&length, begin.data(), sizeof(length));
  return length;
}

}  // namespace

Error NoVersion(const std::string& why) {
  return {ErrorCode::kInvalidArgument, "the object is no version of a channel: " + why};
}

std::string Encoded(const Manifest& manifest) {
  v1::channel::Manifest message;
  for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
    const Part& part = manifest.parts[i];
    v1::channel::Manifest::Part& said = *message.add_parts();
    said.set_name(part.name);
    said.set_dtype(part.dtype);
    said.mutable_shape()->Add(part.shape.begin(), part.shape.end());
    said.set_metadata(part.metadata);
    Write(manifest.lying[i].place, *said.mutable_place());
    for (const Place& patch : manifest.lying[i].patches) Write(patch, *said.add_patches());
    said.set_element_bytes(manifest.lying[i].element_bytes);
  }
  message.set_metadata(manifest.metadata);
  const Length length = message.ByteSizeLong();
  std::string encoded(sizeof(length), '\0');
  std::memcpy(encoded.data(), &length, sizeof(length));
  message.AppendToString(&encoded);
  encoded.resize(Aligned(encoded.size()));
  return encoded;
}

Result<std::uint64_t> BytesBeforeParts(std::span<const std::byte> begin,
                                       std::uint64_t object_bytes) {
  if (begin.size() < sizeof(Length)) return std::unexpected(NoVersion("it is too small"));
  const Length length = LengthAt(begin);
  if (length > object_bytes || Aligned(sizeof(length) + length) > object_bytes) {
    return std::unexpected(NoVersion("its manifest has " + std::to_string(length) + " bytes, of " +
                                     std::to_string(object_bytes)));
  }
  return Aligned(sizeof(length) + length);
}

Result<Manifest> Decoded(std::span<const std::byte> before_parts) {
  v1::channel::Manifest message;
  const auto text = before_parts.subspan(sizeof(Length), LengthAt(before_parts));
  if (!message.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return std::unexpected(NoVersion("its manifest can't be read"));
  }
  Manifest manifest;
  std::set<std::string_view> names;
  for (const v1::channel::Manifest::Part& said : message.parts()) {
    if (!IsUtf8(said.name()) || !IsUtf8(said.dtype())) {
      return std::unexpected(NoVersion("the name or dtype of a part is no UTF-8"));
    }
    if (!names.insert(said.name()).second) {
      return std::unexpected(NoVersion("two parts are named '" + said.name() + "'"));
    }
    manifest.parts.push_back({.name = said.name(),
                              .bytes = {},
                              .dtype = said.dtype(),
                              .shape = {said.shape().begin(), said.shape().end()},
                              .metadata = said.metadata()});
    if (said.patches_size() > 0 && said.element_bytes() == 0) {
      return std::unexpected(NoVersion("a patch has elements of no bytes"));
    }
    Lying& lying = manifest.lying.emplace_back();
    lying.place = Read(said.place());
    for (const auto& patch : said.patches()) lying.patches.push_back(Read(patch));
    lying.element_bytes = said.element_bytes();
  }
  manifest.metadata = message.metadata();
  return manifest;
}

Result<void> CheckPlace(const Place& place, std::uint64_t parts_bytes) {
  if (place.offset <= parts_bytes && place.size_bytes <= parts_bytes - place.offset) return {};
  return std::unexpected(
      NoVersion("a part ends beyond the " + std::to_string(parts_bytes) + " bytes of its object"));
}

Result<std::span<const std::byte>> BytesAt(const Place& place, std::span<const std::byte> object) {
  TRY_ASSIGN(const std::uint64_t begin, BytesBeforeParts(object, object.size()));
  const auto parts = object.subspan(begin);
  TRY(CheckPlace(place, parts.size()));
  return parts.subspan(place.offset, place.size_bytes);
}

}  // namespace hoplite::client

#include "client/channel/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <utility>

namespace hoplite::client {
namespace {

using Bytes = std::span<const std::byte>;
using Like = std::map<std::string_view, std::size_t>;  // the places of parts by their names

Like ByName(const Manifest& last) {
  Like names;
  for (std::size_t i = 0; i < last.parts.size(); ++i) names.emplace(last.parts[i].name, i);
  return names;
}

// The place of the last version's part of this name and size, if it is worth a look.
const Place* PlaceOfLike(const Part& part, const Manifest& last, const Like& names) {
  const auto like = names.find(part.name);
  if (part.bytes.size() < kComparedFrom || like == names.end()) return nullptr;
  const Place& place = last.places[like->second];
  return place.size_bytes == part.bytes.size() ? &place : nullptr;
}

bool AreEqual(Bytes one, const Place& place, const Version& last) {
  const auto other = BytesAt(place, last.objects[place.object]);
  return other && std::memcmp(one.data(), other->data(), one.size()) == 0;
}

// Of each part where it lies in the last version, if it did not change.
std::vector<std::optional<Place>> Unchanged(std::span<const Part> parts, const Version& last) {
  std::vector<std::optional<Place>> places(parts.size());
  const Like names = ByName(last.manifest);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Place* place = PlaceOfLike(parts[i], last.manifest, names);
    if (place != nullptr && AreEqual(parts[i].bytes, *place, last)) places[i] = *place;
  }
  return places;
}

// Those of the last version's objects of which half serves again; if they are too many, those that
// serve most.
std::vector<std::size_t> Serving(const std::vector<std::optional<Place>>& unchanged,
                                 const Version& last, std::size_t most) {
  std::map<std::size_t, std::map<std::uint64_t, std::uint64_t>> used;  // object -> offset -> bytes
  for (const auto& place : unchanged) {
    if (place) used[place->object][place->offset] = place->size_bytes;
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> serving;
  for (const auto& [object, parts] : used) {
    std::uint64_t bytes = 0;
    for (const std::uint64_t size : parts | std::views::values) bytes += size;
    if (2 * bytes >= last.objects[object].size()) serving.emplace_back(bytes, object);
  }
  std::ranges::sort(serving, std::greater());
  serving.resize(std::min(serving.size(), most));
  std::vector<std::size_t> objects;
  for (const auto& [bytes, object] : serving) objects.push_back(object);
  std::ranges::sort(objects);
  return objects;
}

// The parts of the new object, one behind the other. What lies at one place of the caller's memory
// is there once.
class NewObject {
 public:
  Place Add(Bytes bytes) {
    if (bytes.empty()) return {};
    const auto [known, added] = places_.try_emplace({bytes.data(), bytes.size()}, end_);
    if (added) Append(bytes);
    return {.object = 0, .offset = known->second, .size_bytes = bytes.size()};
  }
  std::vector<Bytes> Take() { return std::move(pieces_); }

 private:
  void Append(Bytes bytes) {
    static constexpr std::array<std::byte, kPartAlignment> kGap{};
    pieces_.push_back(bytes);
    const std::size_t gap = (kPartAlignment - bytes.size() % kPartAlignment) % kPartAlignment;
    if (gap > 0) pieces_.push_back(Bytes(kGap).first(gap));
    end_ += bytes.size() + gap;
  }

  std::vector<Bytes> pieces_;
  std::uint64_t end_ = 0;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> places_;
};

}  // namespace

bool MayBeEqual(std::span<const Part> parts, const Manifest& last) {
  const Like names = ByName(last);
  return std::ranges::any_of(
      parts, [&](const Part& part) { return PlaceOfLike(part, last, names) != nullptr; });
}

Packing Pack(std::span<const Part> parts, std::string metadata, const Version* last,
             std::size_t most_older) {
  Packing packing;
  packing.manifest.metadata = std::move(metadata);
  std::vector<std::optional<Place>> unchanged(parts.size());
  if (last != nullptr) {
    unchanged = Unchanged(parts, *last);
    packing.older = Serving(unchanged, *last, most_older);
  }
  NewObject made;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part described = parts[i];
    described.bytes = {};
    packing.manifest.parts.push_back(std::move(described));
    const auto serves =
        unchanged[i] ? std::ranges::find(packing.older, unchanged[i]->object) : packing.older.end();
    if (serves == packing.older.end()) {
      packing.manifest.places.push_back(made.Add(parts[i].bytes));
    } else {
      const auto index = static_cast<std::uint32_t>(serves - packing.older.begin()) + 1;
      packing.manifest.places.push_back({index, unchanged[i]->offset, unchanged[i]->size_bytes});
    }
  }
  packing.pieces = made.Take();
  return packing;
}

}  // namespace hoplite::client

#include "client/channel/packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "client/channel/patch.h"

namespace hoplite::client {
namespace {

using Bytes = std::span<const std::byte>;

// Of a part's bytes: a patch is worth it below a quarter, and all of its patches together may be half.
constexpr std::uint64_t kWorthAPatch = 4;
constexpr std::uint64_t kMostPatches = 2;

using Like = std::map<std::string_view, std::size_t>;  // the places of parts by their names

Like ByName(const Manifest& last) {
  Like names;
  for (std::size_t i = 0; i < last.parts.size(); ++i) names.emplace(last.parts[i].name, i);
  return names;
}

// The last version's part of this name and size, if it is worth a look.
std::optional<std::size_t> LikeOf(const Part& part, const Manifest& last, const Like& names) {
  const auto like = names.find(part.name);
  if (part.bytes.size() < kComparedFrom || like == names.end()) return std::nullopt;
  const bool as_many = last.lying[like->second].place.size_bytes == part.bytes.size();
  return as_many ? std::optional(like->second) : std::nullopt;
}

// How a part of the last version serves again.
struct Again {
  Lying lying;  // there
  std::optional<std::string> patch;
};

std::uint64_t BytesOf(const std::vector<Place>& patches) {
  std::uint64_t bytes = 0;
  for (const Place& patch : patches) bytes += patch.size_bytes;
  return bytes;
}

// None: it is sent anew.
std::optional<Again> AgainFrom(const Part& part, const Lying& lying, Bytes before, bool patches) {
  if (before.size() != part.bytes.size()) return std::nullopt;
  if (std::memcmp(part.bytes.data(), before.data(), before.size()) == 0) return Again{lying, {}};
  const std::uint64_t patched = BytesOf(lying.patches);
  if (!patches || patched >= before.size() / kMostPatches) return std::nullopt;
  Again again{lying, {}};
  if (lying.patches.empty()) {
    again.lying.element_bytes =
        static_cast<std::uint32_t>(ElementBytes(part.dtype, part.bytes.size()));
  }
  again.patch =
      PatchOf(before, part.bytes, again.lying.element_bytes, before.size() / kWorthAPatch);
  return again.patch ? std::optional(std::move(again)) : std::nullopt;
}

using Agains = std::vector<std::optional<Again>>;  // of each part

Agains AgainFrom(std::span<const Part> parts, const Version& last, bool patches) {
  Agains agains(parts.size());
  const Like names = ByName(last.manifest);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto like = LikeOf(parts[i], last.manifest, names);
    if (like)
      agains[i] = AgainFrom(parts[i], last.manifest.lying[*like], last.parts[*like], patches);
  }
  return agains;
}

template <typename Visit>
void ForPlaces(const Lying& lying, Visit visit) {
  visit(lying.place);
  for (const Place& patch : lying.patches) visit(patch);
}

// Of the last version's objects: how many bytes serve again.
std::map<std::size_t, std::uint64_t> UsedOf(const Agains& agains) {
  std::set<std::pair<std::size_t, std::uint64_t>> places;  // two parts may lie at one
  std::map<std::size_t, std::uint64_t> used;
  for (const auto& again : agains) {
    if (!again) continue;
    ForPlaces(again->lying, [&](const Place& place) {
      if (places.emplace(place.object, place.offset).second) used[place.object] += place.size_bytes;
    });
  }
  return used;
}

std::uint64_t NewBytesOf(std::span<const Part> parts, const Agains& agains) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!agains[i]) bytes += parts[i].bytes.size();
    if (agains[i] && agains[i]->patch) bytes += agains[i]->patch->size();
  }
  return bytes;
}

bool Stands(const Again& again, std::size_t object) {
  bool stands = false;
  ForPlaces(again.lying, [&](const Place& place) { stands = stands || place.object == object; });
  return stands;
}

// Those of the last version's objects that serve again. While they are too many, or hold with the new
// one more than twice the value, the one of which least serves goes, and what stands on it is sent anew.
std::vector<std::size_t> Serving(std::span<const Part> parts, Agains& agains, const Version& last,
                                 std::size_t most) {
  std::uint64_t value = 0;
  for (const Part& part : parts) value += part.bytes.size();
  for (;;) {
    const auto used = UsedOf(agains);
    std::uint64_t bytes = NewBytesOf(parts, agains);
    for (const std::size_t object : used | std::views::keys) bytes += last.object_bytes[object];
    if (used.size() <= most && bytes <= 2 * value) {
      const auto objects = used | std::views::keys;
      return {objects.begin(), objects.end()};
    }
    const auto share = [&](const auto& one) {
      return static_cast<double>(one.second) / static_cast<double>(last.object_bytes[one.first]);
    };
    const std::size_t least = std::ranges::min_element(used, {}, share)->first;
    for (auto& again : agains) {
      if (again && Stands(*again, least)) again.reset();
    }
  }
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
    const std::size_t gap = Aligned(bytes.size()) - bytes.size();
    if (gap > 0) pieces_.push_back(Bytes(kGap).first(gap));
    end_ += bytes.size() + gap;
  }

  std::vector<Bytes> pieces_;
  std::uint64_t end_ = 0;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> places_;
};

// As it lies in the new version.
Lying Moved(Lying lying, const std::vector<std::size_t>& older) {
  const auto move = [&](Place& place) {
    const auto serves = std::ranges::find(older, place.object);
    place.object = static_cast<std::uint32_t>(serves - older.begin()) + 1;
  };
  move(lying.place);
  std::ranges::for_each(lying.patches, move);
  return lying;
}

}  // namespace

bool MayBeEqual(std::span<const Part> parts, const Manifest& last) {
  const Like names = ByName(last);
  return std::ranges::any_of(
      parts, [&](const Part& part) { return LikeOf(part, last, names).has_value(); });
}

Packing Pack(std::span<const Part> parts, std::string metadata, const Version* last,
             const PackingOptions& options) {
  Packing packing;
  packing.manifest.metadata = std::move(metadata);
  Agains agains(parts.size());
  if (last != nullptr) {
    agains = AgainFrom(parts, *last, options.patches);
    packing.older = Serving(parts, agains, *last, options.most_older);
  }
  NewObject made;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part described = parts[i];
    described.bytes = {};
    packing.manifest.parts.push_back(std::move(described));
    Lying& lying = packing.manifest.lying.emplace_back();
    if (!agains[i]) {
      lying.place = made.Add(parts[i].bytes);
      continue;
    }
    lying = Moved(agains[i]->lying, packing.older);
    if (!agains[i]->patch) continue;
    const std::string& patch = packing.patches.emplace_back(*std::move(agains[i]->patch));
    lying.patches.push_back(made.Add(std::as_bytes(std::span(patch))));
  }
  packing.pieces = made.Take();
  return packing;
}

}  // namespace hoplite::client

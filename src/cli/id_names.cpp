#include "cli/id_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/shown_text.h"

namespace hoplite::cli {
namespace {

constexpr std::size_t kDigits = 2 * ObjectId::kBytes;

bool IsDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Calls `other` with what lies between ids, and `id` with the digits of each.
template <typename Other, typename Id>
void ForEachPart(std::string_view text, Other other, Id id) {
  while (!text.empty()) {
    const auto begin = std::ranges::find_if(text, IsDigit);
    const auto end = std::find_if_not(begin, text.end(), IsDigit);
    const auto before = static_cast<std::size_t>(begin - text.begin());
    const auto digits = static_cast<std::size_t>(end - begin);
    other(text.substr(0, before));
    const std::string_view word = text.substr(before, digits);
    if (digits == kDigits) {
      id(word);
    } else {
      other(word);
    }
    text.remove_prefix(before + digits);
  }
}

}  // namespace

void IdNames::Add(const ObjectInfo& object) {
  if (!object.name.empty()) Add(object.id, ShownName(object.name));
}

void IdNames::Add(const ObjectId& id, std::string shown) {
  shown_.try_emplace(id.ToHex(), std::move(shown));
}

bool IdNames::Knows(const ObjectId& id) const { return shown_.contains(id.ToHex()); }

std::string IdNames::Of(const ObjectId& id) const { return In(id.ToHex()); }

std::string IdNames::In(std::string_view text) const {
  if (empty()) return std::string(text);
  std::string named;
  ForEachPart(
      text, [&](std::string_view other) { named += other; },
      [&](std::string_view digits) {
        const auto known = shown_.find(std::string(digits));
        named += known == shown_.end() ? digits : std::string_view(known->second);
      });
  return named;
}

std::vector<ObjectId> IdsIn(std::string_view text) {
  std::vector<ObjectId> ids;
  ForEachPart(
      text, [](std::string_view) {},
      [&](std::string_view digits) {
        const ObjectId id = *ObjectId::Parse(digits);
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
      });
  return ids;
}

}  // namespace hoplite::cli

#include "node/memory/largest_objects.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/shown_text.h"
#include "base/text.h"
#include "protocol/object_name.h"

namespace hoplite::node {
namespace {

constexpr std::size_t kMostCopies = 4096;  // at copies
constexpr std::size_t kCopiesAtOnce = 256;
constexpr std::size_t kMostShown = 3;
constexpr std::size_t kLongestName = 64;  // bytes of it that are shown

// The largest first.
std::vector<store::CopyPtr> Largest(const store::ObjectStore& store) {
  std::vector<store::CopyPtr> largest;
  std::optional<ObjectId> behind;
  for (std::size_t looks = 0; looks < kMostCopies;) {
    const std::vector<store::CopyPtr> some = store.After(behind, kCopiesAtOnce);
    if (some.empty()) break;
    behind = some.back()->object();
    looks += some.size();
    std::ranges::copy_if(some, std::back_inserter(largest), [&](const store::CopyPtr& copy) {
      return store.KindOf(copy->object()) == store::CopyKind::kPrimary;
    });
    std::ranges::sort(largest, std::greater(),
                      [](const auto& copy) { return copy->layout().size_bytes; });
    largest.resize(std::min(largest.size(), kMostShown));
  }
  return largest;
}

std::string NameOf(const store::Copy& copy) {
  const std::string_view name = protocol::NameIn(copy.metadata(), copy.object());
  return name.empty() ? copy.object().ToHex() : ShownName(FirstBytes(name, kLongestName));
}

}  // namespace

std::string LargestInWords(const store::ObjectStore& store) {
  std::string words;
  for (const store::CopyPtr& copy : Largest(store)) {
    words += fmt::format("{}{} with {} bytes", words.empty() ? "the largest of these: " : ", ",
                         NameOf(*copy), copy->layout().size_bytes);
  }
  return words;
}

}  // namespace hoplite::node

#include "planner/words/folder.h"

#include <algorithm>

#include "reduce/fold.h"

namespace hoplite::planner {

std::size_t Folder::ElementBytes(std::uint64_t begin, std::size_t size) const {
  if (fold_.folded_bytes == 0) return size;
  return std::min<std::uint64_t>(size, std::max(fold_.folded_bytes, begin) - begin);
}

void Folder::Fold(std::uint64_t begin, std::span<std::byte> out, std::span<const std::byte> a,
                  std::span<const std::byte> b) const {
  const std::size_t elements = ElementBytes(begin, out.size());
  reduce::Fold(fold_.op, fold_.dtype, out.first(elements), a.first(elements), b.first(elements));
  if (out.data() != a.data()) std::ranges::copy(a.subspan(elements), out.subspan(elements).begin());
}

void Folder::Finish(std::uint64_t begin, std::span<std::byte> bytes) const {
  reduce::Finish(fold_.op, fold_.dtype, bytes.first(ElementBytes(begin, bytes.size())),
                 fold_.sources);
}

}  // namespace hoplite::planner

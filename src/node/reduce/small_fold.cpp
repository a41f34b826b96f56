#include "node/reduce/small_fold.h"

#include <algorithm>
#include <ranges>

namespace hoplite::node {

SmallFold::SmallFold(const ReduceOptions& options)
    : wanted_(options.num_objects.value_or(options.sources.size())) {
  if (options.fixed_order) order_ = options.sources;
}

bool SmallFold::InWindow(const ObjectId& source) const {
  if (order_.empty()) return true;
  const auto window = order_ | std::views::drop(folded_.size()) | std::views::take(kWindow);
  return std::ranges::find(window, source) != window.end();
}

std::vector<ObjectId> SmallFold::Due(const std::vector<ObjectId>& available, Time now) {
  std::erase_if(failed_, [now](const auto& failed) { return failed.second <= now; });
  std::vector<ObjectId> due;
  for (const ObjectId& source : available) {
    if (asked_.contains(source) || failed_.contains(source) || !InWindow(source)) continue;
    asked_.insert(source);
    due.push_back(source);
  }
  return due;
}

Time SmallFold::next_try() const {
  Time next = kNever;
  for (const auto& [source, until] : failed_) next = std::min(next, until);
  return next;
}

void SmallFold::OnFailed(const ObjectId& source, Time now) {
  asked_.erase(source);
  failed_[source] = now + kTryAgain;
}

bool SmallFold::OnBytes(const ObjectId& source, std::span<const std::byte> bytes,
                        const protocol::Fold& fold) {
  if (whole()) return true;
  if (!size_) size_ = bytes.size();
  if (bytes.size() != *size_) return false;
  const bool early = !order_.empty() && order_[folded_.size()] != source;
  if (early) {
    early_[source].assign(bytes.begin(), bytes.end());
    return true;
  }
  const planner::Folder folder(fold);
  Fold(source, bytes, folder);
  while (!order_.empty() && !whole()) {
    const auto next = early_.extract(order_[folded_.size()]);
    if (!next) break;
    Fold(next.key(), next.mapped(), folder);
  }
  return true;
}

void SmallFold::Fold(const ObjectId& source, std::span<const std::byte> bytes,
                     const planner::Folder& folder) {
  if (folded_.empty()) {
    sum_.assign(bytes.begin(), bytes.end());
  } else {
    folder.Fold(0, sum_, sum_, bytes);
  }
  folded_.push_back(source);
  if (whole()) folder.Finish(0, sum_);
}

}  // namespace hoplite::node

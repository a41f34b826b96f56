// SmallFold: a reduction of small sources, folded at its coordinator as they come.
//
// Decides: which sources are fetched next, which bytes count, in which order. Is told: bytes, and
// fetches that failed. Must never: keep a source in the store's memory. What comes before its turn
// (fixed_order) is kept here, in at most kWindow buffers of the heap: nobody waits for memory while
// holding memory for the same operation (R45). Knows no I/O.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>

#include "base/time.h"
#include "planner/words/folder.h"
#include "protocol/reduce_event.h"

namespace hoplite::node {

class SmallFold {
 public:
  // Sources that a fixed order fetches at once, the next one and those behind it.
  static constexpr std::size_t kWindow = 16;
  // A source that could not be had is asked for again so much later.
  static constexpr Duration kTryAgain = std::chrono::milliseconds(50);

  explicit SmallFold(const ReduceOptions& options);

  // Of these, in their order, those to be fetched now; each is told once, or again after OnFailed.
  std::vector<ObjectId> Due(const std::vector<ObjectId>& available, Time now);
  // When one that failed may be due again; kNever: none failed.
  Time next_try() const;
  // `fold` is the same each time. False: they are not as many as those of the others, and none of them counts. Its source was put
  // anew, of which the planner hears by itself, but not always before the bytes come.
  bool OnBytes(const ObjectId& source, std::span<const std::byte> bytes,
               const protocol::Fold& fold);
  void OnFailed(const ObjectId& source, Time now);

  bool whole() const { return folded_.size() >= wanted_; }
  const std::vector<ObjectId>& folded() const { return folded_; }
  // The target's bytes, when it is whole.
  const std::vector<std::byte>& sum() const { return sum_; }

 private:
  bool InWindow(const ObjectId& source) const;
  void Fold(const ObjectId& source, std::span<const std::byte> bytes,
            const planner::Folder& folder);

  const std::size_t wanted_;
  std::optional<std::size_t> size_;  // of each source
  std::vector<ObjectId> order_;      // fixed_order: of the sources; else empty
  std::set<ObjectId> asked_;
  std::map<ObjectId, Time> failed_;  // until when they are left alone
  std::map<ObjectId, std::vector<std::byte>> early_;
  std::vector<ObjectId> folded_;
  std::vector<std::byte> sum_;
};

}  // namespace hoplite::node

// Dependents: who gets bytes from a receiver, and so is no source for it, while it looks at one holder
// after the other. The first few are looked at one by one; then all are found out together, since of
// very many who hang on one receiver it would follow each way up.
//
// Must never: take somebody for a dependent who is none. Some dependents it does not know.
#pragma once

#include <map>
#include <optional>

#include "base/ids.h"
#include "planner/copies/copy_table.h"

namespace hoplite::planner {

class Dependents {
 public:
  // The table outlives it, and stays as it is.
  Dependents(const CopyTable& table, NodeId receiver, StripeMask stripes)
      : table_(table), receiver_(receiver), stripes_(stripes) {}

  // It gets all of the stripes from the receiver, perhaps through others.
  bool Include(NodeId holder) {
    if (++looks_ <= kOneByOne) return false;
    if (!behind_) behind_ = table_.Behind(receiver_, stripes_);
    const auto found = behind_->find(holder);
    return found != behind_->end() && found->second == stripes_;
  }

 private:
  static constexpr int kOneByOne = 8;

  const CopyTable& table_;
  const NodeId receiver_;
  const StripeMask stripes_;
  int looks_ = 0;
  std::optional<std::map<NodeId, StripeMask>> behind_;
};

}  // namespace hoplite::planner

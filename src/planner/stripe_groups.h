// StripeGroups: how the stripes of a version are cut into groups. The stripes of a group are
// planned together, in one line or tree, and its receivers stand in ring order from its own
// origin (R39). A group that no cut was made for has all stripes.
//
// Decides nothing. A value type; small while there is one group, as nearly always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/layout.h"

namespace hoplite::planner {

struct StripeGroup {
  StripeMask stripes = 0;
  // Whose Put or fold these stripes are; none: the shard did not see them made.
  NodeId origin = kNoNode;
  friend bool operator==(const StripeGroup&, const StripeGroup&) = default;
};

class StripeGroups {
 public:
  // All stripes are one group.
  explicit StripeGroups(NodeId origin = kNoNode) : origin_(origin) {}
  // Each with stripes of its own; together they have all.
  explicit StripeGroups(std::vector<StripeGroup> cut) : cut_(std::move(cut)) {}

  std::size_t size() const { return cut_ ? cut_->size() : 1; }
  StripeMask stripes(std::size_t group, const Layout& layout) const {
    return cut_ ? (*cut_)[group].stripes : layout.all_stripes();
  }
  NodeId origin(std::size_t group) const { return cut_ ? (*cut_)[group].origin : origin_; }
  void SetOrigin(std::size_t group, NodeId origin) {
    (cut_ ? (*cut_)[group].origin : origin_) = origin;
  }

 private:
  NodeId origin_;                        // of the one group
  Boxed<std::vector<StripeGroup>> cut_;  // none: there is one
};

}  // namespace hoplite::planner

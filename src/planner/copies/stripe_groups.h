// StripeGroups: how the stripes of a version are cut into groups. The stripes of a group are
// planned together, in one line or tree, and its receivers stand in ring order from its own
// origin. A group that no cut was made for has all stripes. In a *forest* each
// receiver serves others in one of the groups only; they have one origin, or one each.
//
// Decides nothing. A value type; small while there is one group, as nearly always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  explicit StripeGroups(std::vector<StripeGroup> cut) : cut_(Cut{std::move(cut)}) {}
  // As several nodes make them: each its stripes, together all. If every n-th stripe, two or more, is
  // one's, they are a forest, since a reduction by shares (R64) has them in one piece each.
  static StripeGroups MadeBy(std::vector<StripeGroup> makers, const Layout& layout) {
    StripeGroups groups = Forest(makers.size(), layout, kNoNode);
    // Units stand for the same in all groups of a forest.
    bool alike =
        layout.stripe_count >= 2 * makers.size() && layout.stripe_count % makers.size() == 0;
    for (std::size_t g = 0; g < makers.size(); ++g) {
      alike = alike && groups.stripes(g, layout) == makers[g].stripes;
    }
    if (!alike) {
      for (std::size_t g = 0; g < makers.size(); ++g)
        groups.cut_->ring.emplace(makers[g].origin, g);
    }
    groups.cut_->groups = std::move(makers);
    groups.cut_->forest = alike;
    return groups;
  }
  // A forest: stripe s is of group s mod `count`, so that a growing prefix feeds all groups.
  static StripeGroups Forest(std::size_t count, const Layout& layout, NodeId origin) {
    std::vector<StripeGroup> cut(count, {.origin = origin});
    for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
      cut[s % count].stripes |= StripeMask{1} << s;
    }
    StripeGroups groups(std::move(cut));
    groups.cut_->forest = true;
    return groups;
  }

  std::size_t size() const { return cut_ ? cut_->groups.size() : 1; }
  bool forest() const { return cut_ && cut_->forest; }
  StripeMask stripes(std::size_t group, const Layout& layout) const {
    return cut_ ? cut_->groups[group].stripes : layout.all_stripes();
  }
  NodeId origin(std::size_t group) const { return cut_ ? cut_->groups[group].origin : origin_; }
  // How far the node is from the group's origin in ring order. Nodes that make shares stand as the
  // shares do, since the members of a reduction's ring are not always in the order of their ids (R68).
  std::uint64_t DistanceOf(std::size_t group, NodeId node) const {
    if (cut_ && !cut_->ring.empty()) {
      const auto maker = cut_->ring.find(node);
      if (maker != cut_->ring.end()) return (maker->second + size() - group) % size();
    }
    return Raw(node) - Raw(origin(group));
  }
  void SetOrigin(std::size_t group, NodeId origin) {
    (cut_ ? cut_->groups[group].origin : origin_) = origin;
  }

 private:
  struct Cut {
    std::vector<StripeGroup> groups;
    bool forest = false;
    std::map<NodeId, std::size_t> ring;  // who makes which group's share
  };

  NodeId origin_;   // of the one group
  Boxed<Cut> cut_;  // none: there is one
};

}  // namespace hoplite::planner

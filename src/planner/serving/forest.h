// Forest: how one version reaches very many receivers at once. Its stripes are cut into groups, each a
// tree of its own over the same receivers, and a receiver is *at home* in one of them: there it serves
// as many others as there are groups, elsewhere nobody. So each node sends the object once, as in a
// line, and stands behind few others, as in a tree.
//
// Decides: whether a version becomes a forest, and of how many groups; who is at home where. Is told:
// the table of copies and the link model, before a pass. Must never: cut a version twice, or move a
// receiver to another home. A view of the table: it keeps nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/copies/copy_table.h"
#include "planner/words/words.h"

namespace hoplite::planner {

class Forest {
 public:
  explicit Forest(CopyTable& table) : table_(table) {}

  // Cuts the version if so many wait for it that this pays, or as many as `always_from`, if that is
  // not 0; into as many groups as are best for all members, who may come later.
  void CutIfItPays(const LinkModel& link, std::uint64_t members, std::uint64_t always_from = 0);
  // Who makes the stripes of a group of a forest is at home there.
  void SettleMaker(NodeId maker);
  // Newcomers to a forest are at home where the fewest are, in ring order.
  void DealHomes();

 private:
  std::size_t Newcomers() const;
  std::size_t FewestHomes() const;

  CopyTable& table_;
};

}  // namespace hoplite::planner

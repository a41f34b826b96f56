// TwoTrees: the slots of a reduction by stripes, for an allreduce of more members than a ring is
// good for.
//
// Every second stripe is one group, the rest is another, and each group is folded up a binary tree of
// its own over the same members: a broadcast's forest upside down. A member is *at home* in one
// of the trees: there it folds two others' outputs, so it receives the object once. In the other tree
// it folds nothing: it sends its sources as they are. So it has two slots, which have no stripe in
// common:
//
//   home   makes the stripes of its own tree, or, the first of each tree, of the target (a root)
//   away   makes those of the other tree, of its own sources alone
//
//   even stripes:      A          odd stripes:      B          at home in the first tree: A C E
//                     ╱ ╲                          ╱ ╲         in the second:             B D F
//                    C   E                        D   F
//                   ╱ ╲  │                       ╱ ╲  │
//                  B   D F                      A   C E
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// Whether so many members make two trees.
bool MakesTwoTrees(std::size_t members, const Layout& layout);

// Their orders, numbered from 1: home slots, then away slots. `members`, two or more, are in ring
// order and at home in turns; whoever asks adds the sources, the same to both slots of a member. A
// pure function, O(members).
std::vector<SlotOrder> TwoTrees(const std::vector<NodeId>& members, const Layout& layout);

}  // namespace hoplite::planner

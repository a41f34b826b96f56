// ReduceTree: the shape of a reduce tree and the order in which arriving sources fill it.
//
// Slots 1..n are numbered in the order of arrival that they are meant for: generalised
// in-order, i.e. the first child's subtree, the node, the other children's subtrees. So an inner
// slot is filled when its first child's part is under way and the rest is still to come. The
// shape is the complete tree of that degree, filled level by level.
//
//   n = 6, degree 2        4              degree 1: 6 pulls from 5 pulls from … 1
//                        2   6            degree n: 2 pulls from 1, 3, 4, …
//                       1 3 5
#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "planner/words/words.h"

namespace hoplite::planner {

struct TreeSlot {
  std::uint32_t parent = 0;  // 0: the root
  std::uint32_t children = 0;
  // As an order names them.
  std::vector<std::uint32_t> parents() const {
    return parent == 0 ? std::vector<std::uint32_t>{} : std::vector{parent};
  }
};

// Entry i is slot i + 1. O(n), degree >= 1.
std::vector<TreeSlot> ReduceTree(std::uint32_t count, std::uint32_t degree);

}  // namespace hoplite::planner

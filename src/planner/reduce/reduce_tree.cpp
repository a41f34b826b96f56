#include "planner/reduce/reduce_tree.h"

#include <algorithm>

namespace hoplite::planner {

// Level by level the children of place h are h × degree + 1 … h × degree + degree; a place's number
// follows from where its subtree's numbers begin and from the size of its first child's subtree.
std::vector<TreeSlot> ReduceTree(std::uint32_t count, std::uint32_t degree) {
  const auto first_child = [&](std::uint64_t place) { return place * degree + 1; };
  const auto end_of_children = [&](std::uint64_t place) {
    return std::min<std::uint64_t>(first_child(place) + degree, count);
  };
  std::vector<std::uint32_t> subtree(count, 1);
  for (std::uint32_t place = count; place-- > 1;) subtree[(place - 1) / degree] += subtree[place];

  std::vector<std::uint32_t> begin(count, 1);
  std::vector<std::uint32_t> parent(count, 0);
  std::vector<TreeSlot> slots(count);
  for (std::uint32_t place = 0; place < count; ++place) {
    const bool childless = first_child(place) >= count;
    const std::uint32_t number = begin[place] + (childless ? 0 : subtree[first_child(place)]);
    TreeSlot& slot = slots[number - 1];
    slot.parent = parent[place];
    std::uint32_t next = begin[place];
    for (std::uint64_t child = first_child(place); child < end_of_children(place); ++child) {
      ++slot.children;
      parent[child] = number;
      begin[child] = next;
      next += subtree[child];
      if (next == number) ++next;  // the place itself follows its first child's subtree
    }
  }
  return slots;
}

}  // namespace hoplite::planner

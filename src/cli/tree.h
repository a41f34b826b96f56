// Trees as text, for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hoplite/status.h>

namespace hoplite::cli {

// The tree that these edges make, one node a line, children below their source:
//   n1
//   └─ n2  41 %
//      └─ n4  38 %
// A node without a source is a root; `roots` are shown even if they feed nobody.
std::vector<std::string> DrawTree(const std::map<std::string, std::string>& fed_by,
                                  const std::vector<std::string>& roots,
                                  const std::map<std::string, std::string>& notes);

// The tree of a reduction into an object of this size, the root first; each slot with its
// number, who executes it, how many sources it folds itself, and how much of its output is there
// (a share; bytes while the size is 0, not known).
//   4 n4  1 source, 12 %
//   ├─ 2 n2  2 sources, 12 %
//   └─ 6 n6  1 source, 100 %
// One that is divided by stripes is a ring (see ring.h), or a tree below each root:
//   stripes 0 2:
//     1 n1  1 source, 12 %
//     └─ 3 n3  1 source, 50 %
//        └─ 5 n2  1 source, 100 %
//   stripes 1 3:
//     2 n2  1 source, 25 %
//     ├─ 4 n1  1 source, 100 %
//     └─ 6 n3  1 source, 100 %
std::vector<std::string> DrawReduction(const std::vector<SlotInfo>& slots,
                                       std::uint64_t size_bytes);

// "1 source" that the slot folds itself.
std::string SourcesText(const SlotInfo& slot);

// "41 %" of an object; "5.0 MiB" while its size is 0, not known.
std::string ProgressText(std::uint64_t valid_bytes, std::uint64_t size_bytes);

// "41 %" of an object.
std::string Share(std::uint64_t valid_bytes, std::uint64_t size_bytes);

}  // namespace hoplite::cli

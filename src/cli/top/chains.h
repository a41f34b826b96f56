// A tree of who feeds whom as text that stays narrow, however deep the tree is.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace hoplite::cli::top {

// Chains of the tree that these edges make (receiver -> source). Each chain goes on with whoever has
// most behind it, so that a line of a hundred nodes is one chain; the others begin a chain of their
// own below it, farther in. Chains longer than `width` characters (0: no limit) are broken.
//   n1 ─▶ n2 41 % ─▶ n4 38 %
//     n2 ─▶ n3 7 %
// `notes`: what stands behind a node's name. `roots` are shown even if they feed nobody.
std::vector<std::string> DrawChains(const std::map<std::string, std::string>& fed_by,
                                    const std::vector<std::string>& roots,
                                    const std::map<std::string, std::string>& notes,
                                    std::size_t width);

}  // namespace hoplite::cli::top

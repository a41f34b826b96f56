// Why a node waits for an object, in words for people, as far as the object's shard knows. Lists of
// members are cut short.
#pragma once

#include <string>
#include <vector>

#include "planner/books/books.h"

namespace hoplite::planner {

// Why nobody has the object. `told`: what nodes say of their own waits for it.
std::string WhyAbsent(const NodeTable& nodes, const ObjectRecord& record,
                      const std::vector<WaiterView>& told);
// Why nobody serves a node that has memory for the object: which holders serve others, have no more
// than the node, are away, or out of its reach.
std::string WhyUnserved(const Books& books, const ObjectRecord& record, NodeId node);
// Why a Put of it is not answered (R3).
std::string WhyPutWaits(const NodeTable& nodes, const ObjectRecord& record);

}  // namespace hoplite::planner

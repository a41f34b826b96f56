// Which objects fill a node's store, in words: whoever waits for memory may delete some of them.
#pragma once

#include <string>

#include "store/object_store.h"

namespace hoplite::node {

// "the largest of these: name:x with 6000000 bytes, ..." of those that were put or reduced here; empty:
// there are none. Looks at so many copies at most that it takes a millisecond or two.
std::string LargestInWords(const store::ObjectStore& store);

}  // namespace hoplite::node

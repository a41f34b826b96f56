// Packing: of what a new version is made: of one new object, and of older ones in which parts lie
// that did not change, or of which patches say what did.
//
// Decides: which bytes travel again. A version's objects hold at most twice its bytes, and a part's
// patches half of its own: beyond that parts are sent anew. Is told: the parts, and the last version. Must never: take bytes for equal without a look
// at all of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <hoplite/channel.h>

#include "client/channel/manifest.h"

namespace hoplite::client {

// A smaller part travels again: to look at the last version takes a question to the node.
inline constexpr std::size_t kComparedFrom = 64 * 1024;

// A version and its bytes.
struct Version {
  Manifest manifest;
  std::vector<std::uint64_t> object_bytes;        // in the order of the head
  std::vector<std::span<const std::byte>> parts;  // as they are now; empty: not known
};

struct Packing {
  Manifest manifest;
  std::vector<std::size_t> older;  // those of the last version's objects that serve, in order
  // What follows the manifest in the new object, gaps included.
  std::vector<std::span<const std::byte>> pieces;
  std::deque<std::string> patches;  // some of the pieces
};

struct PackingOptions {
  std::size_t most_older = 0;  // objects that serve again
  bool patches = false;        // of parts of which little changed, patches are sent
};

// Whether a part may be equal to its like in the last version.
bool MayBeEqual(std::span<const Part> parts, const Manifest& last);
// Without `last` all is new.
Packing Pack(std::span<const Part> parts, std::string metadata, const Version* last,
             const PackingOptions& options);

}  // namespace hoplite::client

// Packing: of what a new version is made: of one new object, and of older ones in which parts lie
// that did not change.
//
// Decides: which bytes travel again. An older object goes on to serve while half of it does, so a
// version's objects hold at most twice its bytes. Is told: the parts, and the last version. Must
// never: take bytes for equal without a look at all of them. Pure.
#pragma once

#include <cstddef>
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
  std::vector<std::span<const std::byte>> objects;  // in the order of the head
};

struct Packing {
  Manifest manifest;
  std::vector<std::size_t> older;  // those of the last version's objects that serve, in order
  // What follows the manifest in the new object, gaps included.
  std::vector<std::span<const std::byte>> pieces;
};

// Whether a part may be equal to its like in the last version.
bool MayBeEqual(std::span<const Part> parts, const Manifest& last);
// Without `last` all is new. `most_older` objects at most serve again.
Packing Pack(std::span<const Part> parts, std::string metadata, const Version* last,
             std::size_t most_older);

}  // namespace hoplite::client

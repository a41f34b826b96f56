// Names that ids of this process were made of lately: an id is a hash, from which its name can't be had
// again. So whoever puts an object under a name can tell the name along, for people.
//
// Any thread; also in a forked child. Bounded: the oldest name goes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <hoplite/object_id.h>

namespace hoplite {

// Longer ones make ids, and are not remembered.
inline constexpr std::size_t kMaxObjectNameBytes = 255;
inline constexpr std::size_t kMostNames = 4096;

// What ObjectId::FromName gives, without remembering it.
ObjectId IdOfName(std::string_view name);
void RememberName(const ObjectId& id, std::string_view name);
// Empty: none is remembered.
std::string RememberedName(const ObjectId& id);

}  // namespace hoplite

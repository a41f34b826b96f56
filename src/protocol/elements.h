// The type of an object's elements, where whoever put it noted one (PutOptions::dtype). Everywhere it
// stands before the user's own metadata, behind the object's name; so all that holds for metadata holds
// for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <hoplite/dtype.h>

namespace hoplite::protocol {

// What no user's metadata may begin with.
inline constexpr std::string_view kElementsMark("\0array\0", 7);

std::string WithElements(std::optional<DType> dtype, std::string_view users);
// None: it is not known.
std::optional<DType> ElementsIn(std::string_view metadata);
// What the user gave.
std::string_view UsersPart(std::string_view metadata);

}  // namespace hoplite::protocol

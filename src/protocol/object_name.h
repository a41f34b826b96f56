// The name of an object, where whoever put it told the name that its id was made of. Everywhere it stands
// before all else in the metadata; so all that holds for metadata holds for it. It is for people: nothing
// is decided by it.
#pragma once

#include <string>
#include <string_view>

#include <hoplite/object_id.h>

namespace hoplite::protocol {

// What no other metadata may begin with.
inline constexpr std::string_view kNameMark("\0name\0", 6);

// At most kMaxObjectNameBytes; an empty one is no name.
std::string WithName(std::string_view name, std::string_view metadata);
// Empty: none was told, or the id is not that of the name, which is a lie.
std::string_view NameIn(std::string_view metadata, const ObjectId& object);
// As it was told, whatever the object.
std::string_view ToldName(std::string_view metadata);
std::string_view WithoutName(std::string_view metadata);

}  // namespace hoplite::protocol

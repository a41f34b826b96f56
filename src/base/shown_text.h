// Bytes that users chose, such as a register's name, in a sentence.
#pragma once

#include <string>
#include <string_view>

namespace hoplite {

// The text as it is, if it is UTF-8: what may go through a protobuf string. Else each byte that is
// part of no character as \\xff.
std::string ShownText(std::string_view text);
// An object's name as "name:x", which commands take for its id, and which is no other object's digits. It
// stays in its line, and all that would steer a terminal is escaped; one with spaces stands in quotes.
std::string ShownName(std::string_view name);

}  // namespace hoplite

// Bytes that users chose, such as a register's name, in a sentence.
#pragma once

#include <string>
#include <string_view>

namespace hoplite {

// The text as it is, if it is UTF-8: what may go through a protobuf string. Else each byte that is
// part of no character as \\xff.
std::string ShownText(std::string_view text);

}  // namespace hoplite

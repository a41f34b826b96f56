// The version of the library that a program runs with.
#pragma once

#include <string_view>

#include <hoplite/export.h>

namespace hoplite {

HOPLITE_EXPORT std::string_view Version();  // "0.1.0"

}  // namespace hoplite

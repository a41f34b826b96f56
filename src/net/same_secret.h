// Whether somebody knows a secret, in a time that tells nothing about how much of it was right.
#pragma once

#include <string_view>

namespace hoplite::net {

bool SameSecret(std::string_view told, std::string_view secret);

}  // namespace hoplite::net

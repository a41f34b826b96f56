// The files of certificates, keys and secrets.
#pragma once

#include <string>

#include <hoplite/result.h>

namespace hoplite::net {

// A file of at most 64 KiB; `what` it is, for the error. A `privately` kept one must not be readable
// by others on the host.
//   invalid_argument  it can't be read, is too large, or others may use it: says what and where
Result<std::string> ReadSmallFile(const std::string& path, const std::string& what, bool privately);

}  // namespace hoplite::net

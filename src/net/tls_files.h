// The files of certificates, keys and secrets.
#pragma once

#include <cstdint>
#include <string>

#include <hoplite/result.h>

namespace hoplite::net {

// Who else on the host may have what the file says.
enum class Others : std::uint8_t {
  kRead,     // it is no secret
  kNothing,  // it is one
  kToldSo,  // it is one, but whoever started this said that others may read it, and none may write it
};

inline Others OfSecrets(bool readable) { return readable ? Others::kToldSo : Others::kNothing; }

// A file of at most 64 KiB; `what` it is, for the error.
//   invalid_argument  it can't be read, is too large, or others may use it: says what and where
Result<std::string> ReadSmallFile(const std::string& path, const std::string& what, Others others);

}  // namespace hoplite::net

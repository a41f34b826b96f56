#include "cli/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace hoplite::cli {

Result<PrivateFolder> PrivateFolder::Make() {
  // Below /tmp whatever TMPDIR says: the path of a Unix socket may have 107 characters only.
  std::string path = "/tmp/hoplite-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable,
              fmt::format("can't make a folder below /tmp: {}", std::strerror(errno))));
  }
  return PrivateFolder(path);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace hoplite::cli

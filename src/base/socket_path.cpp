#include "base/socket_path.h"

#include <filesystem>
#include <system_error>

#include <sys/un.h>

namespace hoplite {

std::string AbsoluteSocketPath(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  return error || absolute.size() >= sizeof(sockaddr_un::sun_path) ? path : absolute;
}

}  // namespace hoplite

#include "client/no_node.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accounts.h"

namespace hoplite::client {
namespace {

// The first folder on the way that this user may not enter; empty: there is none.
std::string ClosedFolder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  std::filesystem::path way;
  for (const auto& part : folder) {
    way /= part;
    if (::faccessat(AT_FDCWD, way.c_str(), X_OK, AT_EACCESS) != 0) return way.string();
  }
  return "";
}

std::string MayNotConnect(const std::string& path) {
  const std::string self = UserInWords(::geteuid());
  if (const std::string closed = ClosedFolder(path); !closed.empty()) {
    return fmt::format(
        "{} may not enter {}: the node's socket belongs into a folder that its users "
        "may enter",
        self, closed);
  }
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return fmt::format("{} may not look at it", self);
  const std::string owner = UserInWords(found.st_uid);
  if ((found.st_mode & S_IWGRP) == 0) {
    return fmt::format(
        "only {} may use it, and this process runs as {}: start the node with "
        "--socket-group and a group of both, or run as {}",
        owner, self, owner);
  }
  const std::string group = GroupInWords(found.st_gid);
  return fmt::format(
      "{} and the members of group {} may use it, and this process runs as {}: add "
      "{} to the group, and start the process anew",
      owner, group, self, self);
}

}  // namespace

Error NoNode(const std::string& path, int number) {
  if (number == EACCES) {
    return {ErrorCode::kInvalidArgument,
            fmt::format("no access to the node at {}: {}", path, MayNotConnect(path))};
  }
  return {ErrorCode::kUnavailable, fmt::format("no node at {}: {}", path, std::strerror(number))};
}

}  // namespace hoplite::client

#include "client/own_node.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accounts.h"

namespace hoplite::client {
namespace {

std::unexpected<Error> NotOwn(const std::string& path, const std::string& why) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument,
                               fmt::format("no access to the node at {}: {}", path, why)));
}

}  // namespace

Result<void> RequireOwnNode(int socket, const std::string& path) {
  constexpr uid_t kRoot = 0;
  ucred listens{};
  socklen_t size = sizeof listens;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listens, &size) != 0) {
    return NotOwn(path, fmt::format("whose it is can't be told: {}", std::strerror(errno)));
  }
  const uid_t self = ::geteuid();
  if (listens.uid == self || listens.uid == kRoot) return {};
  return NotOwn(
      path, fmt::format("it is of {}, and this process runs as {}: nobody named that socket, so "
                        "another user may have put it there; give --socket or HOPLITE_SOCKET to "
                        "use a node of {}",
                        UserInWords(listens.uid), UserInWords(self), UserInWords(listens.uid)));
}

}  // namespace hoplite::client

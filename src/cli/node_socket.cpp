#include "cli/node_socket.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "client/client_access.h"

namespace hoplite::cli {

std::string DefaultSocketPath() {
  if (const char* folder = std::getenv("XDG_RUNTIME_DIR"); folder && *folder != '\0') {
    return fmt::format("{}/hoplite.sock", folder);
  }
  return fmt::format("/tmp/hoplite-{}.sock", ::getuid());
}

Result<Client> Attach(const NodeSocket& socket, const Deadline& deadline) {
  const auto patience = std::clamp(deadline.left(), kShortestAttach, kAttachTimeout);
  return socket.named ? Client::Connect(socket.path, patience)
                      : ClientAccess::ConnectToOwn(socket.path, patience);
}

}  // namespace hoplite::cli

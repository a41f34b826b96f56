// In a build without gRPC.
#include "admin/admin_server.h"

namespace hoplite::admin {

class AdminServer::Impl {};

Result<std::unique_ptr<AdminServer>> AdminServer::Start(
    const AdminOptions& /*options*/, std::shared_ptr<directory::DirectoryService> /*shard*/) {
  return std::unexpected(Error(ErrorCode::kUnavailable,
                               "this build of Hoplite has no admin service (it was configured with "
                               "HOPLITE_ADMIN=OFF)"));
}

AdminServer::~AdminServer() = default;

const std::string& AdminServer::address() const {
  static const std::string none;
  return none;
}

}  // namespace hoplite::admin

#include "net/security.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/try.h"
#include "net/tls_context.h"
#include "net/tls_socket.h"

namespace hoplite::net {
namespace {

constexpr std::chrono::seconds kBetweenLooks(1);

// Its files, named from the root: the process may change its folder before they are read again.
SecurityConfig FromTheRoot(SecurityConfig config) {
  for (std::string* path :
       {&config.tls_ca, &config.tls_cert, &config.tls_key, &config.secret_file}) {
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(*path, error).string();
    if (!error && !path->empty()) *path = absolute;
  }
  return config;
}

}  // namespace

Result<std::shared_ptr<Security>> Security::Load(const SecurityConfig& config, TlsRole self,
                                                 std::optional<std::string> cluster) {
  TRY(config.Validate());
  if (!config.secured()) return std::shared_ptr<Security>();
  std::shared_ptr<Security> security(new Security(config, self, std::move(cluster)));
  const MutexLock lock(security->mutex_);
  security->stamps_ = security->StampsNow();
  TRY_ASSIGN(security->context_, security->Read());
  return security;
}

Security::Security(SecurityConfig config, TlsRole self, std::optional<std::string> cluster)
    : config_(FromTheRoot(std::move(config))), self_(self), cluster_(std::move(cluster)) {}

Result<std::shared_ptr<const TlsContext>> Security::Read() const {
  return config_.secret_file.empty()
             ? ReadCertificates(config_, self_, cluster_)
             : ReadSecret(config_.secret_file, OfSecrets(config_.readable_secrets));
}

Security::Stamps Security::StampsNow() const {
  Stamps stamps;
  for (const std::string& path :
       {config_.tls_ca, config_.tls_cert, config_.tls_key, config_.secret_file}) {
    struct stat file{};
    if (path.empty() || ::stat(path.c_str(), &file) != 0) continue;
    stamps.push_back(fmt::format("{} {} {}.{} {}", file.st_ino, file.st_size, file.st_mtim.tv_sec,
                                 file.st_mtim.tv_nsec, file.st_mode));
  }
  return stamps;
}

std::shared_ptr<const TlsContext> Security::Newest() {
  const MutexLock lock(mutex_);
  const Time now = Now();
  if (now < look_again_) return context_;
  look_again_ = now + kBetweenLooks;
  Stamps stamps = StampsNow();
  if (stamps == stamps_) return context_;
  auto read = Read();
  if (read) {
    log::Info("the files of TLS have changed and are in use");
    context_ = *std::move(read);
    stamps_ = std::move(stamps);
    complained_.clear();
  } else if (complained_ != read.error().message) {
    complained_ = read.error().message;
    log::Warn("the files of TLS have changed and are not taken, the old ones serve on: {}",
              complained_);
  }
  return context_;
}

std::unique_ptr<TlsSocket> Security::Connect(int socket, TlsRole peer) {
  return std::make_unique<TlsSocket>(Newest(), socket, TlsSocket::Side::kConnects, peer);
}

std::unique_ptr<TlsSocket> Security::Accept(int socket) {
  return std::make_unique<TlsSocket>(Newest(), socket, TlsSocket::Side::kAccepts, TlsRole::kNode);
}

}  // namespace hoplite::net

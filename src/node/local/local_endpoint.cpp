#include "node/local/local_endpoint.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/log.h"
#include "base/socket_path.h"
#include "base/try.h"
#include "net/tcp_syscalls.h"

namespace hoplite::node {
namespace {

using Protocol = asio::local::stream_protocol;

// After a failed accept (no descriptors left): don't spin.
constexpr std::chrono::milliseconds kAcceptRetry{100};

// At its own file.
constexpr std::chrono::seconds kBetweenLooks(1);

// Workers that have not said Hello yet: far more than honest ones ever are at a time.
constexpr std::size_t kMostStrangers = 256;

Error Unavailable(const std::string& path, const std::string& what) {
  return {ErrorCode::kUnavailable, fmt::format("local socket {}: {}", path, what)};
}

bool SomebodyListens(asio::io_context& loop, const std::string& path) {
  Protocol::socket probe(loop);
  asio::error_code error;
  probe.connect(Protocol::endpoint(path), error);
  return error != asio::error::connection_refused;
}

Error Refused(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("local socket {}: {}", path, what)};
}

// Whose members may use the socket beside the node's user; none: nobody.
Result<std::optional<gid_t>> Allowed(const std::string& path, const std::string& group) {
  if (group.empty()) return std::nullopt;
  const std::optional<gid_t> found = FindGroup(group);
  if (found) return found;
  return std::unexpected(Refused(path, fmt::format("this host has no group '{}'", group)));
}

// The file's mode and group. No link is followed, in case somebody put one there.
Result<void> Restrict(const std::string& path, std::optional<gid_t> group) {
  constexpr uid_t kAsItIs = -1;
  if (group && ::lchown(path.c_str(), kAsItIs, *group) != 0) {
    if (errno != EPERM) return std::unexpected(Unavailable(path, std::strerror(errno)));
    const std::string user = UserInWords(::geteuid());
    return std::unexpected(
        Refused(path, fmt::format("{} may not give it to the group {}: the node's user must be a "
                                  "member of it when the node starts",
                                  user, GroupInWords(*group))));
  }
  constexpr mode_t kUser = S_IRUSR | S_IWUSR;
  constexpr mode_t kGroup = S_IRGRP | S_IWGRP;
  const mode_t mode = group ? kUser | kGroup : kUser;
  if (::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return std::unexpected(Unavailable(path, std::strerror(errno)));
}

// Makes room for a socket at `path`.
Result<void> ClearStale(asio::io_context& loop, const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) {
    return std::unexpected(Unavailable(path, "something lies there that is no socket"));
  }
  if (SomebodyListens(loop, path)) {
    return std::unexpected(Unavailable(path, "another node listens there"));
  }
  if (::unlink(path.c_str()) == 0) return {};
  return std::unexpected(
      Unavailable(path, fmt::format("a node that has ended left it, and it can't be removed: {}",
                                    std::strerror(errno))));
}

}  // namespace

LocalEndpoint::LocalEndpoint(Operations& operations, ClientLimits limits)
    : operations_(operations),
      clients_(std::make_shared<LocalClients>(limits)),
      acceptor_(operations.loop()),
      retry_(operations.loop()),
      look_(operations.loop()) {}

LocalEndpoint::~LocalEndpoint() { Stop(); }

Result<void> LocalEndpoint::Listen(const std::string& path, const std::string& group) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("local socket {}: a path has 1 to {} bytes",
                                                       path, sizeof(sockaddr_un::sun_path) - 1)));
  }
  TRY_ASSIGN(group_, Allowed(path, group));
  TRY_ASSIGN(SocketLock lock, SocketLock::Take(path));
  lock_.emplace(std::move(lock));
  Result<void> opened =
      ClearStale(operations_.loop(), path).and_then([&] { return Open(path, group_); });
  if (!opened) {
    asio::error_code ignored;
    acceptor_.close(ignored);
    RemoveSocket();
    return opened;
  }
  KeepSpare();
  Accept();
  LookLater();
  return {};
}

// Until it listens nobody can connect, whatever mode the file has: it is never open to others, and
// needs no umask, which would be that of all threads.
Result<void> LocalEndpoint::Open(const std::string& path, std::optional<gid_t> group) {
  asio::error_code error;
  acceptor_.open(Protocol(), error);
  if (!error) net::CloseOnExec(acceptor_.native_handle());
  if (!error) acceptor_.bind(Protocol::endpoint(path), error);
  if (error) return std::unexpected(Unavailable(path, error.message()));
  path_ = AbsoluteSocketPath(path);
  ::lstat(path.c_str(), &bound_);
  TRY(Restrict(path, group));
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return std::unexpected(Unavailable(path, error.message()));
  listening_ = std::make_shared<int>();
  return {};
}

void LocalEndpoint::LookLater() {
  look_.expires_after(kBetweenLooks);
  look_.async_wait([this, listening = std::weak_ptr(listening_)](asio::error_code) {
    if (!listening.expired()) Look();
  });
}

// Somebody who cleans up may remove the file: nobody finds the node then.
void LocalEndpoint::Look() {
  struct stat found{};
  const bool gone = ::lstat(path_.c_str(), &found) != 0 && errno == ENOENT;
  if (gone) {
    MakeAgain();
  } else if (!IsOwnSocket() && !std::exchange(missing_, true)) {
    log::Warn("local socket {}: something else lies there now: nobody reaches this node by it",
              path_);
  }
  LookLater();
}

void LocalEndpoint::MakeAgain() {
  listening_.reset();  // what waits at the old one does nothing
  retry_.cancel();
  asio::error_code ignored;
  acceptor_.close(ignored);
  const std::string path = path_;
  const Result<void> made = Open(path, group_);
  if (made) {
    missing_ = false;
    log::Warn("local socket {}: somebody removed it; it is there again", path);
    return Accept();
  }
  acceptor_.close(ignored);
  if (IsOwnSocket()) ::unlink(path.c_str());
  listening_ = std::make_shared<int>();
  if (!std::exchange(missing_, true)) {
    log::Warn("local socket {}: somebody removed it, and it can't be made again: {}", path,
              made.error().message);
  }
}

bool LocalEndpoint::IsOwnSocket() const {
  struct stat now{};
  return !path_.empty() && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == bound_.st_dev &&
         now.st_ino == bound_.st_ino;
}

void LocalEndpoint::Accept() {
  const std::weak_ptr<void> listening = listening_;
  acceptor_.async_accept([this, listening](asio::error_code error, Protocol::socket socket) {
    if (listening.expired()) return;
    if (error) return OnAcceptFailed(error);
    failing_ = false;
    Admit(FileDescriptor(socket.release()), false);
    Accept();
  });
}

// At first descriptors may come free: those of connections that rest, or others.
void LocalEndpoint::OnAcceptFailed(const asio::error_code& error) {
  const bool again = std::exchange(failing_, true);
  if (!again) log::Warn("local socket {}: accept: {}", path_, error.message());
  if (net::NoDescriptorLeft(error)) {
    operations_.GiveUpIdle();
    if (again) TurnAwayAll();
  }
  retry_.expires_after(kAcceptRetry);
  retry_.async_wait([this, listening = std::weak_ptr(listening_)](asio::error_code) {
    if (!listening.expired()) Accept();
  });
}

void LocalEndpoint::Admit(FileDescriptor socket, bool again) {
  const Result<void> adopted = Adopt(socket, LocalSession::Kind::kWorker);
  if (adopted) return KeepSpare();
  if (again || adopted.error().code != ErrorCode::kResourceExhausted) {
    log::Warn("local socket {}: {}", path_, adopted.error().message);
    return LocalChannel::Refuse(socket.get(), adopted.error());
  }
  operations_.GiveUpIdle();
  const auto soon = std::make_shared<asio::steady_timer>(operations_.loop(), kAcceptRetry);
  soon->async_wait([this, soon, listening = std::weak_ptr(listening_),
                    socket = std::move(socket)](asio::error_code) mutable {
    if (!listening.expired()) Admit(std::move(socket), true);
  });
}

// Those that wait to be accepted.
void LocalEndpoint::TurnAwayAll() {
  for (std::size_t i = 0; i < kMostStrangers; ++i) {
    spare_.Reset();
    const FileDescriptor socket(
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.get() < 0) break;
    LocalChannel::Refuse(socket.get(), LocalSession::NoDescriptorLeft());
  }
  KeepSpare();
}

void LocalEndpoint::KeepSpare() {
  if (spare_.get() >= 0) return;
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (spare_.get() < 0) operations_.GiveUpIdle();
}

Result<void> LocalEndpoint::AddSession(int socket) {
  FileDescriptor taken(socket);
  return Adopt(taken, LocalSession::Kind::kInProcess);
}

Result<void> LocalEndpoint::Adopt(FileDescriptor& socket, LocalSession::Kind kind) {
  TRY_ASSIGN(const std::shared_ptr<LocalSession> session,
             LocalSession::Adopt(operations_, clients_, socket.get(), kind));
  socket.Release();
  sessions_.insert(session);
  const std::weak_ptr<LocalSession> weak = session;
  session->Start([this, weak] { sessions_.erase(weak.lock()); });
  if (kind == LocalSession::Kind::kWorker) LimitStrangers(session);
  return {};
}

// Each holds two descriptors. Beyond a number of them, the one that has had most time to speak goes
// for each that comes.
void LocalEndpoint::LimitStrangers(const std::shared_ptr<LocalSession>& newest) {
  strangers_.push_back(newest);
  std::erase_if(strangers_, [](const std::weak_ptr<LocalSession>& known) {
    const auto session = known.lock();
    return !session || session->greeted();
  });
  if (strangers_.size() <= kMostStrangers) return;
  const auto oldest = strangers_.front().lock();
  strangers_.pop_front();
  oldest->SendAway("too many came after it");
}

void LocalEndpoint::Stop() {
  listening_.reset();
  asio::error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  look_.cancel();
  spare_.Reset();
  const auto sessions = std::exchange(sessions_, {});
  for (const auto& session : sessions) session->Stop();
  RemoveSocket();
}

void LocalEndpoint::RemoveSocket() {
  // Somebody may have put another one in its place.
  if (IsOwnSocket()) ::unlink(path_.c_str());
  path_.clear();
  lock_.reset();
}

}  // namespace hoplite::node

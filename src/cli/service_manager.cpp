#include "cli/service_manager.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace hoplite::cli {
namespace {

// It hears this process three times before it would end it.
constexpr int kSignsPerWatch = 3;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<std::int64_t> NumberIn(const char* name) {
  const std::string_view text = Variable(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(Variable("NOTIFY_SOCKET")) {
  const auto watch = NumberIn("WATCHDOG_USEC");
  const bool for_another = NumberIn("WATCHDOG_PID").value_or(::getpid()) != ::getpid();
  if (socket_.empty() || for_another || !watch || *watch <= 0) return;
  period_ = std::chrono::microseconds(*watch) / kSignsPerWatch;
}

void ServiceManager::Tell(std::string_view state) const {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const FileDescriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (sender.get() < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)::sendto(sender.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace hoplite::cli

#include "net/linger.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "base/clock.h"
#include "base/units.h"
#include "net/await.h"
#include "net/deadline.h"

namespace hoplite::net {
namespace {

constexpr std::chrono::seconds kPatience(1);
constexpr std::size_t kMostBytes = 64_KiB;
constexpr int kMostAtOnce = 64;  // of a process

// One of these; counted off with its destruction.
class Lingering {
 public:
  explicit Lingering(TcpSocket socket_in) : socket(std::move(socket_in)) { ++Count(); }
  ~Lingering() { --Count(); }
  Lingering(const Lingering&) = delete;
  Lingering& operator=(const Lingering&) = delete;

  static std::atomic<int>& Count() {
    static std::atomic<int> count{0};
    return count;
  }

  TcpSocket socket;
};

Task<void> ReadToTheEnd(asio::io_context& loop, std::shared_ptr<Lingering> one) {
  asio::error_code error;
  const Deadline patience(loop, Now() + kPatience, [one] {
    asio::error_code ignored;
    one->socket.close(ignored);
  });
  std::array<std::byte, 4096> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): for bytes
  for (std::size_t heard = 0; !error && heard < kMostBytes;) {
    heard += co_await one->socket.async_read_some(asio::buffer(room), Into(error));
  }
}

}  // namespace

void CloseOnceHeard(asio::io_context& loop, TcpSocket socket) {
  if (Lingering::Count() >= kMostAtOnce) return;  // the socket closes here
  asio::error_code ignored;
  socket.shutdown(asio::socket_base::shutdown_send, ignored);
  asio::co_spawn(loop, ReadToTheEnd(loop, std::make_shared<Lingering>(std::move(socket))),
                 asio::detached);
}

}  // namespace hoplite::net

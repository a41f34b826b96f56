#include "net/tcp_round_trip.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace hoplite::net {

Duration RoundTrip(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr std::uint32_t kNone = ~0U;  // what the kernel says before the first acknowledgement
  const bool known = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                     size >= offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt &&
                     info.tcpi_min_rtt != kNone;
  return known ? Duration(std::chrono::microseconds(info.tcpi_min_rtt)) : Duration{0};
}

}  // namespace hoplite::net

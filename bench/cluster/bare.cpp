// The bare figures that everything else is measured against: one TCP stream between two hosts, a
// blocking round trip, memcpy into memory of the kind that the object store uses, and a disk.
//
//   listen ADDRESS | accept | connect ADDRESS PORT      set up the one connection
//   send BYTES MOMENT | receive BYTES                   a copy from region to region
//   ping COUNT BYTES | echo COUNT BYTES                 round trips, each side blocking
//   memcpy BYTES THREADS                                into a prefaulted region
//   disk FOLDER BYTES                                   to a file and back, past the page cache
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

namespace {

using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::SleepUntil;
using hoplite::bench::Word;

constexpr std::size_t kCallBytes = 1 << 20;  // larger system calls bring nothing
constexpr std::size_t kDiskBytes = 2 << 20;  // of one call to a disk
constexpr std::size_t kDiskThreads = 2;

// Throws what errno says when a system call failed.
long Check(long result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

// Shared memory with every page touched, as the object store has it: untouched pages would cost a
// factor of three and measure the page fault instead of the copy.
class Region {
 public:
  explicit Region(std::size_t bytes) : bytes_(bytes) {
    const int memory = static_cast<int>(Check(memfd_create("bench", MFD_CLOEXEC), "memfd_create"));
    Check(ftruncate(memory, static_cast<off_t>(bytes)), "ftruncate");
    void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    if (begin == MAP_FAILED) Check(-1, "mmap");
    begin_ = static_cast<std::byte*>(begin);
    Check(madvise(begin_, bytes, MADV_POPULATE_WRITE), "madvise");
  }
  ~Region() { munmap(begin_, bytes_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::byte* begin() const { return begin_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* begin_;
};

sockaddr_in Endpoint(const std::string& address, std::uint16_t port) {
  sockaddr_in endpoint{};
  endpoint.sin_family = AF_INET;
  endpoint.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &endpoint.sin_addr) != 1)
    throw std::runtime_error("not an IPv4 address");
  return endpoint;
}

int NewSocket() {
  return static_cast<int>(Check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
}

void SetNoDelay(int connection) {
  const int on = 1;
  Check(setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
}

void SendAll(int connection, const std::byte* data, std::size_t size) {
  for (std::size_t sent = 0; sent < size;)
    sent += static_cast<std::size_t>(Check(
        send(connection, data + sent, std::min(size - sent, kCallBytes), MSG_NOSIGNAL), "send"));
}

void ReceiveAll(int connection, std::byte* data, std::size_t size) {
  for (std::size_t received = 0; received < size;) {
    const long count =
        Check(recv(connection, data + received, std::min(size - received, kCallBytes), 0), "recv");
    if (count == 0) throw std::runtime_error("closed by the peer");
    received += static_cast<std::size_t>(count);
  }
}

class Bare {
 public:
  std::string Listen(std::istream& words) {
    sockaddr_in endpoint = Endpoint(Word<std::string>(words), 0);
    socklen_t length = sizeof endpoint;
    auto* address = reinterpret_cast<sockaddr*>(&endpoint);
    listener_ = NewSocket();
    Check(bind(listener_, address, length), "bind");
    Check(listen(listener_, 1), "listen");
    Check(getsockname(listener_, address, &length), "getsockname");
    return "\"port\":" + std::to_string(ntohs(endpoint.sin_port));
  }

  std::string Accept(std::istream&) {
    connection_ = static_cast<int>(Check(accept(listener_, nullptr, nullptr), "accept"));
    SetNoDelay(connection_);
    return "";
  }

  std::string Connect(std::istream& words) {
    const auto address = Word<std::string>(words);
    const sockaddr_in endpoint = Endpoint(address, Word<std::uint16_t>(words));
    connection_ = NewSocket();
    Check(connect(connection_, reinterpret_cast<const sockaddr*>(&endpoint), sizeof endpoint),
          "connect");
    SetNoDelay(connection_);
    return "";
  }

  std::string Send(std::istream& words) {
    const auto size = Word<std::size_t>(words);
    const auto moment = Word<Nanoseconds>(words);
    Reserve(size);
    SleepUntil(moment);
    const Nanoseconds begin = Now();
    SendAll(connection_, region_->begin(), size);
    return "\"begin\":" + std::to_string(begin);
  }

  std::string Receive(std::istream& words) {
    const auto size = Word<std::size_t>(words);
    Reserve(size);
    ReceiveAll(connection_, region_->begin(), size);
    return "\"end\":" + std::to_string(Now());
  }

  std::string Ping(std::istream& words) {
    const auto count = Word<std::size_t>(words);
    const auto size = Word<std::size_t>(words);
    Reserve(size);
    std::vector<Nanoseconds> times(count);
    for (Nanoseconds& time : times) {
      const Nanoseconds begin = Now();
      SendAll(connection_, region_->begin(), size);
      ReceiveAll(connection_, region_->begin(), size);
      time = Now() - begin;
    }
    return "\"times\":" + JsonArray(times);
  }

  std::string Echo(std::istream& words) {
    const auto count = Word<std::size_t>(words);
    const auto size = Word<std::size_t>(words);
    Reserve(size);
    for (std::size_t i = 0; i < count; ++i) {
      ReceiveAll(connection_, region_->begin(), size);
      SendAll(connection_, region_->begin(), size);
    }
    return "";
  }

  // The threads exist before the clock starts, as a pool's do.
  std::string Memcpy(std::istream& words) {
    const auto size = Word<std::size_t>(words);
    const auto threads = Word<std::size_t>(words);
    if (threads == 0) throw std::runtime_error("at least one thread");
    Reserve(size);
    const std::vector<std::byte> source(size, std::byte{1});
    std::barrier start(static_cast<std::ptrdiff_t>(threads + 1));
    std::barrier stop(static_cast<std::ptrdiff_t>(threads + 1));
    std::vector<std::jthread> pool;
    pool.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i)
      pool.emplace_back([&, from = size * i / threads, to = size * (i + 1) / threads] {
        start.arrive_and_wait();
        std::memcpy(region_->begin() + from, source.data() + from, to - from);
        stop.arrive_and_wait();
      });
    const Nanoseconds begin = Now();  // waking the threads counts, as a Put wakes its own
    start.arrive_and_wait();
    stop.arrive_and_wait();
    return "\"begin\":" + std::to_string(begin) + ",\"end\":" + std::to_string(Now());
  }

  // Pieces go in order, each by whichever thread is free.
  std::string Disk(std::istream& words) {
    const auto folder = Word<std::string>(words);
    const auto size = Word<std::size_t>(words);
    Reserve(size);
    const int file = static_cast<int>(
        Check(open(folder.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600), "open"));
    std::atomic<std::size_t> done{0};
    const auto moved = [&](auto move) {
      const Nanoseconds begin = Now();
      std::atomic<std::size_t> next{0};
      std::array<std::jthread, kDiskThreads> pool;
      for (std::jthread& thread : pool) {
        thread = std::jthread([&] {
          for (std::size_t at = 0; (at = next.fetch_add(kDiskBytes)) < size;) {
            const std::size_t count = std::min(kDiskBytes, size - at);
            const ssize_t some = move(file, region_->begin() + at, count, static_cast<off_t>(at));
            done += static_cast<std::size_t>(std::max<ssize_t>(some, 0));
          }
        });
      }
      for (std::jthread& thread : pool) thread.join();
      return std::to_string(Now() - begin);
    };
    const std::string written = moved(pwrite);
    const std::string read = moved(pread);
    close(file);
    if (done != 2 * size) throw std::runtime_error("the disk did not take and give all bytes");
    return "\"written\":" + written + ",\"read\":" + read;
  }

 private:
  void Reserve(std::size_t size) {
    if (!region_ || region_->size() < size) region_.emplace(size);
  }

  int listener_ = -1;
  int connection_ = -1;
  std::optional<Region> region_;
};

}  // namespace

int main() {
  Bare bare;
  const auto bind = [&bare](std::string (Bare::*method)(std::istream&)) {
    return [&bare, method](std::istream& words) { return (bare.*method)(words); };
  };
  return hoplite::bench::RunAgent({{"listen", bind(&Bare::Listen)},
                                   {"accept", bind(&Bare::Accept)},
                                   {"connect", bind(&Bare::Connect)},
                                   {"send", bind(&Bare::Send)},
                                   {"receive", bind(&Bare::Receive)},
                                   {"ping", bind(&Bare::Ping)},
                                   {"echo", bind(&Bare::Echo)},
                                   {"memcpy", bind(&Bare::Memcpy)},
                                   {"disk", bind(&Bare::Disk)}});
}

// What the network layer costs on loopback: 1 GiB from one region of shared memory to another,
// framed as the data plane does, beside bare send and recv; frames; waking a coroutine.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "net/connection.h"
#include "net/signal.h"
#include "net/tcp_transport.h"
#include "wire/frame.h"

namespace {

using namespace hoplite;
using net::Task;

constexpr std::size_t kBytes = 1_GiB;
constexpr std::size_t kPiece = 1_MiB;

// Shared memory with every page touched, as the store has it.
class Region {
 public:
  Region() : descriptor_(::memfd_create("bench", 0)) {
    HOPLITE_CHECK(::ftruncate(descriptor_, kBytes) == 0, "memory for the benchmark");
    void* begin = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    HOPLITE_CHECK(begin != MAP_FAILED, "a mapping for the benchmark");
    std::memset(begin, 1, kBytes);
    bytes_ = std::span(static_cast<std::byte*>(begin), kBytes);
  }
  static Region& Source() {
    static Region region;
    return region;
  }
  static Region& Target() {
    static Region region;
    return region;
  }
  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  std::span<std::byte> bytes_;
};

// --- bare sockets

std::pair<int, int> BareConnection() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  HOPLITE_CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0, "an address");
  ::listen(listener, 1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int near = ::socket(AF_INET, SOCK_STREAM, 0);
  HOPLITE_CHECK(::connect(near, reinterpret_cast<sockaddr*>(&address), size) == 0, "a connection");
  const int far = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  return {near, far};
}

// `window` bytes are used again and again: all of the region, or a buffer that stays in the cache.
void Bare(benchmark::State& state, std::size_t window, std::size_t call) {
  const auto [near, far] = BareConnection();
  const auto from = Region::Source().bytes();
  const auto to = Region::Target().bytes();
  for (auto _ : state) {
    std::jthread sender([&, socket = near] {
      for (std::size_t done = 0; done < kBytes;) {
        const std::size_t at = done % window;
        done += static_cast<std::size_t>(
            std::max<ssize_t>(0, ::send(socket, &from[at], std::min(call, window - at), 0)));
      }
    });
    for (std::size_t done = 0; done < kBytes;) {
      const std::size_t at = done % window;
      done += static_cast<std::size_t>(
          std::max<ssize_t>(0, ::recv(far, &to[at], std::min(call, window - at), 0)));
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
  ::close(near);
  ::close(far);
}
void BM_BareRegionToRegion(benchmark::State& state) { Bare(state, kBytes, kPiece); }
void BM_BareHotBuffer(benchmark::State& state) { Bare(state, 128_KiB, 128_KiB); }
BENCHMARK(BM_BareRegionToRegion)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_BareHotBuffer)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// --- our streams

struct Threaded {
  ~Threaded() {
    loop.stop();
    thread.join();
  }
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  std::thread thread{[this] { loop.run(); }};
};

// Stripe `stripe` of `stripes`: pieces stripe, stripe + stripes, …
Task<void> SendStripe(net::ConnectionPtr connection, std::size_t stripe, std::size_t stripes) {
  const Region& region = Region::Source();
  wire::Data data;
  data.stripe = static_cast<std::uint32_t>(stripe);
  data.block_count = 16;
  data.payload_bytes = kPiece;
  for (std::size_t at = stripe * kPiece; at < kBytes; at += stripes * kPiece) {
    const auto head = wire::Encode(data);
    const net::Payload payload{region.bytes().subspan(at, kPiece), region.descriptor(), at};
    const auto sent = co_await connection->stream->Send(head, payload);
    if (!sent) co_return;
  }
}

Task<void> ReceiveStripe(net::ConnectionPtr connection, std::size_t stripe, std::size_t stripes,
                         std::counting_semaphore<>& done) {
  const auto to = Region::Target().bytes();
  for (std::size_t at = stripe * kPiece; at < kBytes; at += stripes * kPiece) {
    const auto frame = co_await connection->reader.Next();
    HOPLITE_CHECK(frame, "a frame");
    const auto received = co_await connection->reader.ReceivePayload(to.subspan(at, kPiece));
    HOPLITE_CHECK(received, "a payload");
  }
  done.release();
}

Task<void> Dial(net::Transport& transport, std::string address, net::ConnectionPtr& into,
                std::counting_semaphore<>& done) {
  auto stream = co_await transport.Connect(std::move(address), std::chrono::seconds(5));
  HOPLITE_CHECK(stream, "a connection");
  into = std::make_shared<net::Connection>(*stream, kNoNode);
  done.release();
}

// Each stream with a sending and a receiving thread of its own.
void BM_Streams(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Region::Source();  // made here, not within the measurement
  Region::Target();
  net::TcpOptions options;
  options.sendfile = state.range(1) != 0;
  std::vector<Threaded> senders(count);
  std::vector<Threaded> receivers(count);
  std::vector<asio::io_context*> loops;
  loops.reserve(count);
  for (Threaded& receiver : receivers) loops.push_back(&receiver.loop);
  net::TcpTransport transport(loops, options);
  std::counting_semaphore<> done(0);
  std::vector<net::ConnectionPtr> near(count);
  std::vector<net::ConnectionPtr> far(count);
  std::atomic<std::size_t> next = 0;
  const auto listener = transport.Listen("127.0.0.1:0", [&](net::StreamPtr stream) {
    far[next++] = std::make_shared<net::Connection>(std::move(stream), kNoNode);
    done.release();
  });
  for (std::size_t i = 0; i < count; ++i) {
    asio::co_spawn(senders[i].loop, Dial(transport, (*listener)->address(), near[i], done),
                   asio::detached);
    done.acquire();
    done.acquire();
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) {
      asio::co_spawn(receivers[i].loop, ReceiveStripe(far[i], i, count, done), asio::detached);
      asio::co_spawn(senders[i].loop, SendStripe(near[i], i, count), asio::detached);
    }
    for (std::size_t i = 0; i < count; ++i) done.acquire();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}
BENCHMARK(BM_Streams)
    ->ArgNames({"streams", "sendfile"})
    ->ArgsProduct({{1, 2}, {0, 1}})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// --- frames and signals

void BM_EncodeAndDecodeData(benchmark::State& state) {
  wire::Data data;
  data.block_count = static_cast<std::uint32_t>(state.range(0));
  data.payload_bytes = 64 * data.block_count;
  for (auto _ : state) {
    const auto bytes = wire::Encode(data);
    const std::span<const std::byte> all(bytes);
    const auto header = wire::DecodeHeader(all.first<wire::kHeaderBytes>());
    benchmark::DoNotOptimize(wire::DecodeBody(*header, all.subspan(wire::kHeaderBytes)));
  }
}
BENCHMARK(BM_EncodeAndDecodeData)->Arg(1)->Arg(64);

Task<void> Echo(net::Signal& hear, std::counting_semaphore<>& say, const std::atomic<bool>& stop) {
  while (!stop) {
    co_await hear.Wait();
    say.release();
  }
}

// A notification from another thread until that thread hears the answer.
void BM_SignalAcrossThreads(benchmark::State& state) {
  Threaded other;
  net::Signal signal(other.loop);
  std::counting_semaphore<> answer(0);
  std::atomic<bool> stop = false;
  asio::co_spawn(other.loop, Echo(signal, answer, stop), asio::detached);
  for (auto _ : state) {
    signal.Notify();
    answer.acquire();
  }
  stop = true;
  signal.Notify();
  answer.acquire();
}
BENCHMARK(BM_SignalAcrossThreads)->UseRealTime();

void BM_NotifyNobody(benchmark::State& state) {
  asio::io_context loop(1);
  net::Signal signal(loop);
  for (auto _ : state) signal.Notify();
}
BENCHMARK(BM_NotifyNobody);

}  // namespace

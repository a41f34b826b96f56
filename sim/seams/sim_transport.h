// SimTransport: streams within this process over a simulated network. Keeps the contract of Stream
// to the letter, and is as hard on its users as a network and a kernel may be: it holds little,
// delivers in small pieces, and reads a payload from its memory only when it arrives, as sendfile
// may. All on one thread, in virtual time or in the machine's (SimNetwork).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "net/stream.h"
#include "sim/seams/sim_network.h"

namespace hoplite::net {

class SimStream;
struct Half;

// What the processes of one simulation share: the network, who listens where, and what the
// simulation hears of streams. Lives as long as any stream.
struct Internet {
  Internet(asio::io_context& loop, const LinkOptions& options, std::uint64_t seed)
      : network(loop, options, seed) {}
  // What is still under way is lost.
  ~Internet();
  Internet(const Internet&) = delete;
  Internet& operator=(const Internet&) = delete;

  struct Listening {
    const void* process = nullptr;
    HostId host = 0;
    std::function<void(HostId from, const std::shared_ptr<Half>& there,
                       const std::shared_ptr<Half>& back)>
        accept;
  };

  SimNetwork network;
  std::map<std::string, Listening> listeners;
  int next_number = 1;                   // of an address that ends with ":0"
  std::size_t buffer_bytes = 64 * 1024;  // of a stream, both ends together
  std::size_t piece_bytes = 16 * 1024;
  std::vector<std::weak_ptr<SimStream>> streams;  // of both ends
  std::vector<std::weak_ptr<Half>> halves;        // of all connections
  // Told of a broken property, in words.
  std::function<void(const std::string&)> broken = Abort;
  std::function<void()> on_payload = [] {};  // called when bytes of an object are sent

 private:
  static void Abort(const std::string& what);
};
using InternetPtr = std::shared_ptr<Internet>;

// The data plane of one process. Addresses are any text; "…:0" picks a free number.
class SimTransport final : public Transport {
 public:
  SimTransport(InternetPtr internet, HostId host, std::vector<asio::io_context*> loops);
  // One process with a network of its own.
  explicit SimTransport(asio::io_context& loop,
                        const LinkOptions& options = LinkOptions::Immediate());
  ~SimTransport() override;

  Result<std::unique_ptr<Listener>> Listen(const std::string& address,
                                           std::function<void(StreamPtr)> on_accept) override;
  Task<Result<StreamPtr>> Connect(std::string address, Duration timeout) override;

  // Nothing that the process still does is seen by anybody.
  void Die(Death death);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Streams on which bytes of objects are under way.
std::vector<std::shared_ptr<SimStream>> BusyStreams(const Internet& internet);
// Breaks one of these, chosen by number, for both ends. False if there is none.
bool BreakStream(const Internet& internet, std::uint64_t which);

}  // namespace hoplite::net

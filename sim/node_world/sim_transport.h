// SimTransport: the data plane of one process in the node world. Keeps the contract of Stream to
// the letter, and is as hard on its users as a network and a kernel may be: it holds little,
// delivers in small pieces, and reads a payload from its memory only when it arrives, as sendfile
// may.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "net/stream.h"
#include "sim/node_world/network.h"

namespace hoplite::node_world {

class SimStream;
struct Half;

// What all processes share: who listens where, and what the simulation hears of streams.
struct Internet {
  explicit Internet(Network& network_in) : network(network_in) {}

  struct Listening {
    const void* process = nullptr;
    HostId host = 0;
    std::function<void(HostId from, const std::shared_ptr<Half>& there,
                       const std::shared_ptr<Half>& back)>
        accept;
  };

  Network& network;
  std::map<std::string, Listening> listeners;
  std::size_t buffer_bytes = 64 * 1024;  // of a stream, both ends together
  std::size_t piece_bytes = 16 * 1024;
  std::vector<std::weak_ptr<SimStream>> streams;   // of both ends
  std::function<void(const std::string&)> broken;  // told of a broken property, in words
  std::function<void()> on_payload;                // called when bytes of an object are sent
};

// How a process ends: its kernel says so to its peers, or the machine is gone without a word.
enum class Death { kKilled, kPowerOff };

class SimTransport final : public net::Transport {
 public:
  SimTransport(Internet& internet, HostId host, std::vector<asio::io_context*> loops);
  ~SimTransport() override;

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override;
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override;

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

}  // namespace hoplite::node_world

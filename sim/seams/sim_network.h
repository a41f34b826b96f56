// SimNetwork: hosts and what passes between them. Decides when something that leaves arrives:
// latency, jitter, and a card of finite speed at each end, which serves in the order of sending. Is
// told of faults: hosts that don't hear others for a while, or are slow. Knows nothing of what it
// carries. All on one thread: by the VirtualTime of that thread, where it has one, else by the
// machine's time on the given loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include "base/time.h"
#include "sim/kit/random.h"

namespace hoplite::net {

using HostId = std::uint32_t;
class Wire;

struct LinkOptions {
  Duration latency = std::chrono::microseconds(200);
  Duration jitter{0};                            // at most so much more
  std::uint64_t bytes_per_second = 100'000'000;  // 0: no limit
  // What a node says to a shard is heard later, in order: one word in four by up to this time, the
  // others by up to an eighth of it.
  Duration late{0};

  // Whatever leaves arrives at once.
  static LinkOptions Immediate() { return {.latency = Duration{0}, .bytes_per_second = 0}; }
};

// How a process ends: its kernel says so to its peers, or the machine is gone without a word.
enum class Death { kKilled, kPowerOff };

class SimNetwork {
 public:
  SimNetwork(asio::io_context& loop, const LinkOptions& options, std::uint64_t seed)
      : loop_(loop), options_(options), random_(seed), late_random_(~seed), late_(options.late) {}

  HostId AddHost();

  // When so many bytes that leave now arrive, if nothing is in their way.
  Time Arrival(HostId from, HostId to, std::size_t bytes);
  Duration latency() const { return options_.latency; }
  // Of a word that a node says now to a shard.
  Duration Lateness();
  // Does it at that time, never within this call.
  void At(Time when, std::function<void()> step);

  // What `from` sends to `to` waits until then; two blocks last until the later end.
  void Block(HostId from, HostId to, Time until);
  Time blocked_until(HostId from, HostId to) const;
  // From now on no connection from one to the other is made: refused, or not answered. Those that
  // there are go on.
  enum class Cut : std::uint8_t { kRefuses, kSwallows };
  void CutOff(HostId from, HostId to, Cut how) { cut_off_[{from, to}] = how; }
  std::optional<Cut> cut_off(HostId from, HostId to) const;
  // The host is so many times slower than others from now on.
  void Slow(HostId host, std::uint32_t times) { hosts_[host].slowness = times; }
  // Ends what Block and Slow began; words are late no more.
  void Heal();
  // A connection on which something waits because of Block.
  void Held(std::weak_ptr<Wire> wire) { held_.push_back(std::move(wire)); }

 private:
  struct Host {
    Time up_free{};
    Time down_free{};
    std::uint32_t slowness = 1;
  };
  Duration Transfer(const Host& host, std::size_t bytes) const;

  asio::io_context& loop_;
  const LinkOptions options_;
  sim::Random random_;
  sim::Random late_random_;
  Duration late_;
  std::vector<Host> hosts_;
  std::map<std::pair<HostId, HostId>, Time> blocked_;
  std::map<std::pair<HostId, HostId>, Cut> cut_off_;
  std::vector<std::weak_ptr<Wire>> held_;
};

// One direction of a connection: things arrive in the order in which they were sent.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(SimNetwork& network, HostId from, HostId to) : network_(network), from_(from), to_(to) {}

  // It arrives so much later than it would.
  void Send(std::size_t bytes, std::function<void()> arrive, Duration late = {});
  void Arrive();                        // what is due; the network's
  void Clear() { under_way_.clear(); }  // lost
  void Seal() { sealed_ = true; }       // what is sent later is lost
  void Cut() {
    Clear();
    Seal();
  }

 private:
  struct Message {
    Time arrival;
    std::function<void()> arrive;
  };
  void Arm();

  SimNetwork& network_;
  const HostId from_;
  const HostId to_;
  std::deque<Message> under_way_;
  Time last_arrival_{};
  bool armed_ = false;
  bool sealed_ = false;
};

}  // namespace hoplite::net

#include "sim/node_world/network.h"

#include <algorithm>
#include <utility>

namespace hoplite::node_world {

HostId Network::AddHost() {
  hosts_.emplace_back();
  return static_cast<HostId>(hosts_.size() - 1);
}

Duration Network::Transfer(const Host& host, std::size_t bytes) const {
  return Duration(static_cast<std::int64_t>(1e9 * static_cast<double>(bytes * host.slowness) /
                                            static_cast<double>(options_.bytes_per_second)));
}

Time Network::Arrival(HostId from, HostId to, std::size_t bytes) {
  Host& sender = hosts_[from];
  Host& receiver = hosts_[to];
  sender.up_free = std::max(time_.Now(), sender.up_free) + Transfer(sender, bytes);
  const Time reached = sender.up_free + options_.latency + random_.Within(options_.jitter);
  receiver.down_free = std::max(reached, receiver.down_free + Transfer(receiver, bytes));
  return receiver.down_free;
}

void Network::Block(HostId from, HostId to, Time until) {
  Time& blocked = blocked_[{from, to}];
  blocked = std::max(blocked, until);
}

Time Network::blocked_until(HostId from, HostId to) const {
  const auto found = blocked_.find({from, to});
  return found == blocked_.end() ? Time{} : found->second;
}

void Network::Heal() {
  blocked_.clear();
  for (Host& host : hosts_) host.slowness = 1;
  for (const auto& weak : std::exchange(held_, {})) {
    if (const auto wire = weak.lock()) wire->Arrive();
  }
}

void Wire::Send(std::size_t bytes, std::function<void()> arrive) {
  if (sealed_) return;
  last_arrival_ = std::max(last_arrival_, network_.Arrival(from_, to_, bytes));
  under_way_.push_back({last_arrival_, std::move(arrive)});
  Arm();
}

void Wire::Arm() {
  if (armed_ || under_way_.empty()) return;
  armed_ = true;
  const Time opens = network_.blocked_until(from_, to_);
  if (opens > under_way_.front().arrival) network_.Held(weak_from_this());
  const Time when = std::max(under_way_.front().arrival, opens);
  network_.time().At(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Arrive();
  });
}

void Wire::Arrive() {
  armed_ = false;
  const Time now = network_.time().Now();
  const bool passes = now >= network_.blocked_until(from_, to_);
  if (passes && !under_way_.empty() && under_way_.front().arrival <= now) {
    const auto arrive = std::move(under_way_.front().arrive);
    under_way_.pop_front();
    arrive();
  }
  Arm();
}

}  // namespace hoplite::node_world

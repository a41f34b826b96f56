#include "sim/seams/sim_network.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>

#include "base/clock.h"
#include "base/virtual_time.h"
#include "net/timer.h"
#include "sim/kit/noise.h"

namespace hoplite::net {

HostId SimNetwork::AddHost() {
  hosts_.emplace_back();
  return static_cast<HostId>(hosts_.size() - 1);
}

Duration SimNetwork::Transfer(const Host& host, std::size_t bytes) const {
  if (options_.bytes_per_second == 0) return Duration{0};
  return Duration(static_cast<std::int64_t>(1e9 * static_cast<double>(bytes * host.slowness) /
                                            static_cast<double>(options_.bytes_per_second)));
}

Time SimNetwork::Arrival(HostId from, HostId to, std::size_t bytes) {
  Host& sender = hosts_[from];
  Host& receiver = hosts_[to];
  sender.up_free = std::max(Now(), sender.up_free) + Transfer(sender, bytes);
  const Time reached = sender.up_free + options_.latency + random_.Within(options_.jitter);
  receiver.down_free = std::max(reached, receiver.down_free + Transfer(receiver, bytes));
  return receiver.down_free;
}

Duration SimNetwork::Lateness() {
  return late_.count() > 0 ? sim::DrawLateness(late_random_, late_) : Duration{0};
}

void SimNetwork::At(Time when, std::function<void()> step) {
  if (VirtualTime* const time = VirtualTime::OfThisThread()) {
    time->At(when, std::move(step));
  } else if (when <= Now()) {
    asio::post(loop_, std::move(step));
  } else {
    const auto timer = std::make_shared<Timer>(loop_);
    timer->expires_at(when);
    timer->async_wait([timer, step = std::move(step)](const asio::error_code& error) {
      if (!error) step();
    });
  }
}

void SimNetwork::Block(HostId from, HostId to, Time until) {
  Time& blocked = blocked_[{from, to}];
  blocked = std::max(blocked, until);
}

std::optional<SimNetwork::Cut> SimNetwork::cut_off(HostId from, HostId to) const {
  const auto found = cut_off_.find({from, to});
  return found == cut_off_.end() ? std::nullopt : std::optional(found->second);
}

Time SimNetwork::blocked_until(HostId from, HostId to) const {
  const auto found = blocked_.find({from, to});
  return found == blocked_.end() ? Time{} : found->second;
}

void SimNetwork::Heal() {
  late_ = {};
  blocked_.clear();
  for (Host& host : hosts_) host.slowness = 1;
  for (const auto& weak : std::exchange(held_, {})) {
    if (const auto wire = weak.lock()) wire->Arrive();
  }
}

void Wire::Send(std::size_t bytes, std::function<void()> arrive, Duration late) {
  if (sealed_) return;
  last_arrival_ = std::max(last_arrival_, network_.Arrival(from_, to_, bytes) + late);
  under_way_.push_back({last_arrival_, std::move(arrive)});
  Arm();
}

void Wire::Arm() {
  if (armed_ || under_way_.empty()) return;
  armed_ = true;
  const Time opens = network_.blocked_until(from_, to_);
  if (opens > under_way_.front().arrival) network_.Held(weak_from_this());
  const Time when = std::max(under_way_.front().arrival, opens);
  network_.At(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Arrive();
  });
}

void Wire::Arrive() {
  armed_ = false;
  const Time now = Now();
  const bool passes = now >= network_.blocked_until(from_, to_);
  if (passes && !under_way_.empty() && under_way_.front().arrival <= now) {
    const auto arrive = std::move(under_way_.front().arrive);
    under_way_.pop_front();
    arrive();
  }
  Arm();
}

}  // namespace hoplite::net

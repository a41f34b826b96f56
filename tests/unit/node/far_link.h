// FarLink: a fluid. Streams of one node over one long way, whose bytes queue at its link; credit goes back
// half a round trip, and TCP's window doubles each round trip.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node/streams/inbound_credit.h"
#include "node/streams/long_way.h"

namespace hoplite::node {

class FarLink {
 public:
  static constexpr double kRate = 12.5e6;  // bytes per second
  static constexpr std::uint64_t kLeast = 128 * 1024;
  static constexpr Duration kNoCredit{-1};

  struct Stream {
    Stream(InboundCredit& credit, Duration way, bool neighbour) : share(credit) {
      long_way.SetWay(way, neighbour);
      limit = way == kNoCredit ? 1e18 : CreditNow();
    }
    double CreditNow() const {
      return static_cast<double>(share.CreditFor(rate, long_way, kLeast).bytes);
    }

    InboundCredit::Share share;
    LongWay long_way;
    double rate = 0, limit = 0, sent = 0, received = 0, acknowledged = 0;
    double allowed = 0, tcp = 90e3;
    double sampled = 0;
    Time sampled_at{};
    std::deque<std::pair<Time, double>> data, credits;
  };

  FarLink(Duration way, Duration believed, int streams, bool neighbour = false) : half_(way / 2) {
    while (static_cast<int>(streams_.size()) < streams) {
      streams_.push_back(std::make_unique<Stream>(credit_, believed, neighbour));
      streams_.back()->credits.emplace_back(now_ + half_, streams_.back()->limit);
    }
  }

  // Seconds until so much has come by all streams together, each its part.
  double Move(double bytes) {
    const double part = bytes / static_cast<double>(streams_.size());
    for (;; now_ += kStep) {
      bool all = true;
      for (const auto& stream : streams_) {
        Send(*stream, part);
        Receive(*stream);
        all &= stream->received >= part - 1;
      }
      Carry();
      if (all || now_ > Time(std::chrono::seconds(300))) {
        return ToSeconds(now_.time_since_epoch());
      }
    }
  }
  Duration longest_queue() const { return FromSeconds(longest_ / kRate); }

 private:
  static constexpr Duration kStep = std::chrono::milliseconds(1);

  void Send(Stream& stream, double part) {
    while (!stream.credits.empty() && stream.credits.front().first <= now_) {
      stream.allowed = stream.credits.front().second;
      stream.credits.pop_front();
    }
    const double most = std::min({stream.allowed, part, stream.acknowledged + stream.tcp});
    if (most <= stream.sent) return;
    queue_.emplace_back(&stream, most - stream.sent);
    queued_ += most - stream.sent;
    stream.sent = most;
    longest_ = std::max(longest_, queued_);
  }
  void Carry() {
    double room = kRate * ToSeconds(kStep);
    while (!queue_.empty() && room > 0) {
      auto& [stream, left] = queue_.front();
      const double bytes = std::min(room, left);
      stream->data.emplace_back(now_ + half_, bytes);
      room -= bytes;
      left -= bytes;
      queued_ -= bytes;
      if (left <= 0) queue_.pop_front();
    }
  }
  void Receive(Stream& stream) {
    double got = 0;
    while (!stream.data.empty() && stream.data.front().first <= now_) {
      got += stream.data.front().second;
      stream.data.pop_front();
    }
    acknowledgements_.emplace_back(now_ + half_, &stream, got);
    while (!acknowledgements_.empty() && std::get<0>(acknowledgements_.front()) <= now_) {
      auto& [when, whose, bytes] = acknowledgements_.front();
      whose->acknowledged += bytes;
      whose->tcp += bytes;
      acknowledgements_.pop_front();
    }
    if (got == 0) return;
    stream.received += got;
    const auto received = static_cast<std::uint64_t>(stream.received);
    all_ += got;
    stream.long_way.Came(
        now_,
        {.own = received, .all = static_cast<std::uint64_t>(all_), .streams = credit_.flowing()});
    const auto window = stream.share.CreditFor(stream.rate, stream.long_way, kLeast);
    const double limit = stream.received + static_cast<double>(window.bytes);
    if (limit <= stream.limit + static_cast<double>(window.queue) / 4) return;
    SampleRate(stream);
    stream.limit = stream.received + stream.CreditNow();
    stream.credits.emplace_back(now_ + half_, stream.limit);
  }
  void SampleRate(Stream& stream) const {
    const Duration elapsed = now_ - stream.sampled_at;
    if (elapsed < InboundCredit::kSample) return;
    const double sample = (stream.received - stream.sampled) / ToSeconds(elapsed);
    const double weight =
        stream.rate == 0 ? 1 : InboundCredit::Weight(elapsed, stream.long_way.way());
    stream.rate += weight * (sample - stream.rate);
    stream.share.SetRate(static_cast<std::uint64_t>(stream.rate), weight);
    stream.sampled_at = now_;
    stream.sampled = stream.received;
  }

  const Duration half_;
  InboundCredit credit_;
  std::vector<std::unique_ptr<Stream>> streams_;
  Time now_{};
  std::deque<std::pair<Stream*, double>> queue_;
  std::deque<std::tuple<Time, Stream*, double>> acknowledgements_;
  double queued_ = 0;
  double all_ = 0;
  double longest_ = 0;
};

}  // namespace hoplite::node

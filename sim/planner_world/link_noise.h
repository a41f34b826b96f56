// LinkNoise: what links carry at a moment, and what streams may take of it, where there is noise.
//
// Decides: the weight of a stream, the part of its share that it has grown to, and whether a link
// stands still or has a burst to give. Is told: what each link carries. Must never: influence a
// network without noise. A value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/kit/noise.h"
#include "sim/planner_world/noise.h"

namespace hoplite::sim {

class LinkNoise {
 public:
  using Stream = std::pair<std::uint32_t, std::uint32_t>;  // source and receiver
  static constexpr std::uint32_t kNoHost = ~0U;

  LinkNoise(const Noise& noise, std::uint64_t seed)
      : noise_(noise), seed_(seed), stalls_(noise.stall_chance, noise.stall, seed) {}

  const Stalls& stalls() const { return stalls_; }
  // So many times its rate a link carries while it has a burst to give.
  double fastest() const { return noise_.burst_bytes > 0 ? 100 : 1; }

  // --- links. Bytes per nanosecond, as in the network.
  // The link belongs to that host, or to none, and has that rate. To be called before its streams
  // are, whenever it is shared anew.
  void Settle(Time now, std::uint32_t link, std::uint32_t host, double rate);
  double Carries(std::uint32_t link) const { return link < links_.size() ? links_[link].now : 0; }
  // What it carries in all has changed by so much.
  void Load(Time now, std::uint32_t link, double change);
  // All bytes that it has carried.
  double Carried(Time now, std::uint32_t link) const;
  // After the link was shared: a new moment at which to share it again, if any.
  std::optional<Time> Due(Time now, std::uint32_t link);
  // Whether that moment is this one.
  bool IsDue(Time now, std::uint32_t link);

  // --- a stream that has something to send over this up link and some others
  void Wants(Time now, const Stream& stream, std::uint32_t up_link);
  // It is one of those that share this link.
  void Shares(std::uint32_t link) { ++Of(link).wanted; }
  // Up to now it sent something.
  void Sent(Time now, const Stream& stream) {
    if (noise_.begins.count() > 0) streams_[stream].sent = now;
  }
  // At least 1.
  double Weight(Time now, const Stream& stream) const;
  // Of its share; 1 if it does not grow any more.
  double Part(Time now, const Stream& stream) const;

 private:
  struct Link {
    double rate = 0;
    double now = 0;     // what it carries at most, until it is shared anew
    double load = 0;    // what it does carry
    double tokens = 0;  // that its bucket has
    double bytes = 0;   // that it has carried
    Time at;            // of tokens and bytes
    bool bursts = false;
    Time awake{};              // it stands still before that
    Time stall_changes{};      // when to look again whether it does
    std::uint32_t wanted = 0;  // by so many flows
    Time grows = kNever;       // when a stream of it does
    Time due = kNever;
  };
  struct Growth {
    std::optional<Time> sent;  // the last moment at which it sent something
    Time began;
  };

  Link& Of(std::uint32_t link);
  void Advance(Time now, Link& link) const;

  Noise noise_;
  std::uint64_t seed_;
  Stalls stalls_;
  std::vector<Link> links_;
  std::map<Stream, Growth> streams_;
};

}  // namespace hoplite::sim

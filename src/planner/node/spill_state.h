// SpillState: when a node writes copies to its disk, and what a failed write means (docs/protocol.md:
// R120, R125).
//
//   no room --> wanted --> writes begin, two at a time --> written: its memory may go
//                 |                    '--> failed: the disk is left alone for a time
//                 '-- a little ahead, while somebody wanted room lately
//
// Decides: whether one more write may begin, and for how much room. Is told: who found no room, how
// writes end, that room on the disk came back. Must never: begin a write that the disk just failed at;
// or write what nobody wants the room of. Knows no copy, byte or thread: node::Spiller has these. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "base/units.h"

namespace hoplite::planner {

class SpillState {
 public:
  SpillState() = default;
  virtual ~SpillState() = default;
  SpillState(const SpillState&) = delete;
  SpillState& operator=(const SpillState&) = delete;

  // Writes under way at a time.
  static constexpr std::size_t kMostWrites = 2;
  // After a failure the disk is left alone for so long.
  static constexpr Duration kLeftAlone = std::chrono::seconds(10);
  // So much at least goes ahead of what is wanted, of a large store.
  static constexpr std::uint64_t kLeastAhead = 2_MiB;
  // Whoever wanted room wants more as long as this afterwards.
  static constexpr Duration kAheadFor = std::chrono::seconds(1);

  // Somebody found no room for so much in a store of this capacity.
  void OnWanted(std::uint64_t bytes, std::uint64_t capacity_bytes, Time now);
  // Room for so much, in one piece, is worth writing for. None: nobody wanted any lately.
  std::optional<std::uint64_t> Wanted(Time now) const;
  // What is free, or can be at once, is to be so much, since more is likely to be wanted.
  std::uint64_t Ahead(Time now) const;

  virtual bool MayWrite(Time now) const;
  void OnBegun() { ++under_way_; }
  void OnWritten(Time now);
  // The write was taken back: its object went.
  void OnVain() { --under_way_; }
  enum class Failure : std::uint8_t { kFull, kBroken };
  // Of so many objects, whose places come back.
  void OnFailed(Failure how, std::size_t objects, Time now);
  // No room for a write is left on the disk.
  void OnFull(Time now) { LeaveAlone(Failure::kFull, now); }
  // Some came back.
  void OnRoom();

  std::size_t under_way() const { return under_way_; }
  bool left_alone(Time now) const { return now < left_alone_until_; }
  // The same, since it is full; or since it failed.
  bool full(Time now) const { return why_ == Failure::kFull && now < left_alone_until_; }
  bool broken(Time now) const { return why_ == Failure::kBroken && now < left_alone_until_; }
  // When a write last ended well.
  Time written_at() const { return written_at_; }

 private:
  void LeaveAlone(Failure why, Time now);
  bool wanted_lately(Time now) const;

  std::uint64_t wanted_bytes_ = 0;
  std::uint64_t most_bytes_ = 0;  // that are written for ahead
  Time wanted_at_ = Time::min();
  Time written_at_ = Time::min();
  Time left_alone_until_ = Time::min();
  Failure why_ = Failure::kBroken;
  std::size_t under_way_ = 0;
  std::size_t no_news_ = 0;  // places of failed writes that are yet to come back
};

}  // namespace hoplite::planner

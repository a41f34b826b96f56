// FlightGate: how many fetches of a node are under way at a time; the others wait in the order of
// their coming (R46). 3,000 at once would open as many connections, share the link so finely that
// their streams look stalled, and end later than a few after the other.
//
// Decides: who goes next. Is told: who asks, who ended, who gets nothing at the moment, whom
// somebody depends on. Must never: let one wait for another that gets nothing: that may wait itself
// for what the first is to bring. So who gets nothing gives its turn away, and counts again when
// it gets something, also beyond the bound. No I/O; main loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/time.h"

namespace hoplite::node {

class FlightGate {
 public:
  explicit FlightGate(std::size_t most) : most_(most) {}

  // One fetch, from when it asks until it has ended. At the end of the line, unless there is room.
  class Turn {
   public:
    // `on_turn` is called once if it has to wait, when it may go.
    Turn(FlightGate& gate, std::function<void()> on_turn);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool waits() const { return state_ == State::kWaits; }
    // Somebody depends on it: it goes at once, also beyond the bound.
    void GoAtOnce();
    // It goes, and gets nothing, or something again.
    void SetIdle(bool idle);

   private:
    friend class FlightGate;
    enum class State : std::uint8_t { kWaits, kGoes, kIdle };

    FlightGate& gate_;
    const std::uint64_t number_;
    const std::function<void()> on_turn_;
    State state_ = State::kWaits;
  };

  // Every fetch, from its beginning on, also while it waits for an object to be put.
  void Begun(Time now);
  void Ended(Time now);
  // Several are under way, or were lately: whoever fetches many objects begins with one.
  bool several(Time now) const;

  std::size_t under_way() const { return going_; }
  std::size_t waiting() const { return line_.size(); }
  std::size_t most() const { return most_; }
  bool full() const { return going_ >= most_; }

 private:
  void Go(Turn& turn);
  void Admit();

  const std::size_t most_;
  std::size_t going_ = 0;
  std::size_t begun_ = 0;
  std::optional<Time> several_at_;       // were under way last
  std::map<std::uint64_t, Turn*> line_;  // in the order of their coming
  std::uint64_t asked_ = 0;              // numbers them
};

}  // namespace hoplite::node

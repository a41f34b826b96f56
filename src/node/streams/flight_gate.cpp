#include "node/streams/flight_gate.h"

#include <utility>

namespace hoplite::node {
namespace {

constexpr Duration kLately = std::chrono::seconds(2);

}  // namespace

void FlightGate::Begun(Time now) {
  if (++begun_ > 1) several_at_ = now;
}

void FlightGate::Ended(Time now) {
  if (begun_-- > 1) several_at_ = now;
}

bool FlightGate::several(Time now) const {
  return begun_ > 1 || (several_at_ && now - *several_at_ < kLately);
}

FlightGate::Turn::Turn(FlightGate& gate, std::function<void()> on_turn)
    : gate_(gate), number_(gate.asked_++), on_turn_(std::move(on_turn)) {
  if (gate.full()) {
    gate.line_.emplace(number_, this);
  } else {
    gate.Go(*this);
  }
}

FlightGate::Turn::~Turn() {
  if (state_ == State::kGoes) --gate_.going_;
  gate_.line_.erase(number_);
  gate_.Admit();
}

void FlightGate::Turn::GoAtOnce() {
  if (!waits()) return;
  gate_.line_.erase(number_);
  gate_.Go(*this);
}

void FlightGate::Turn::SetIdle(bool idle) {
  if (waits() || idle == (state_ == State::kIdle)) return;
  state_ = idle ? State::kIdle : State::kGoes;
  gate_.going_ += idle ? -1 : 1;
  gate_.Admit();
}

void FlightGate::Go(Turn& turn) {
  turn.state_ = Turn::State::kGoes;
  ++going_;
}

void FlightGate::Admit() {
  while (!full() && !line_.empty()) {
    Turn& next = *line_.begin()->second;
    line_.erase(line_.begin());
    Go(next);
    next.on_turn_();
  }
}

}  // namespace hoplite::node

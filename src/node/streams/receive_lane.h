// ReceiveLane: one fetch over one connection: a set of stripes of one version from one source,
// straight into its sink, block by block verified.
//
// Is told: what to pull and from whom. Answers: how it ended; its sink hears which stripes are final
// meanwhile. Must never: advance a mark over a block whose checksum is wrong, or call a stripe done
// without its END(final). Runs on a data loop; Stop,
// the observers and the constructor may be used from the main loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net/connection.h"
#include "net/signal.h"
#include "node/core/context.h"
#include "node/streams/data_plane.h"
#include "node/streams/receive_sink.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"
#include "wire/frame.h"

namespace hoplite::node {

struct LaneEnd {
  LaneEnd() = default;
  LaneEnd(protocol::Outcome outcome_in, protocol::Failure failure_in, std::string why_in)
      : outcome(outcome_in), failure(failure_in), why(std::move(why_in)) {}

  protocol::Outcome outcome = protocol::Outcome::kDone;
  protocol::Failure failure = protocol::Failure::kNone;
  std::string why;
};

class ReceiveLane : public std::enable_shared_from_this<ReceiveLane> {
 public:
  // on_end is posted to the main loop, once, after the last byte was touched. `slot`: 0 for the
  // object itself, else the slot of a reduction whose output is pulled.
  ReceiveLane(Context& context, DataPlane& data_plane, DataLoop& data_loop,
              std::shared_ptr<ReceiveSink> sink, protocol::Grant grant, StripeMask stripes,
              std::uint32_t slot, std::function<void(LaneEnd)> on_end);

  void Start();
  // The connection is closed and the lane ends as kAbandoned. Any thread.
  void Stop();

  std::uint64_t bytes_received() const { return received_.load(std::memory_order_relaxed); }
  // How long the source itself has had nothing to send.
  std::chrono::milliseconds starved_for() const {
    return std::chrono::milliseconds(starved_ms_.load(std::memory_order_relaxed));
  }

 private:
  net::Task<void> Run();
  net::Task<LaneEnd> Converse();
  void LogConnect(const Result<net::ConnectionPtr>& connected);
  void MeasureFirst();
  void MeasureWay(bool quiet);  // `quiet`: nothing else came since this lane began
  net::Task<Result<void>> SendFetch();
  net::Task<LaneEnd> ReceiveFrames();
  net::Task<std::optional<LaneEnd>> OnData(wire::Data data);
  net::Task<std::span<std::byte>> AwaitRoom(std::uint64_t begin, std::uint64_t end);
  std::optional<LaneEnd> OnEnd(const wire::End& end);  // none: other stripes go on
  net::Task<void> Upkeep();
  net::Task<void> StopUpkeep(bool say_done);
  InboundCredit::Credit CreditNow() const;
  // So much of it has to have come before more credit is sent.
  std::uint64_t CreditDue(const InboundCredit::Credit& credit) const;
  void Sample(Time now);
  LaneEnd Failed(protocol::Failure failure, std::string why) const;

  Context& context_;
  DataPlane& data_plane_;
  DataLoop& data_loop_;
  const std::shared_ptr<ReceiveSink> sink_;
  const protocol::Grant grant_;
  const StripeMask stripes_;
  const std::uint32_t slot_;
  const std::function<void(LaneEnd)> on_end_;

  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::uint64_t> rate_{0};
  std::atomic<std::uint32_t> starved_ms_{0};

  // On the data loop.
  net::ConnectionPtr connection_;
  std::optional<InboundCredit::Share> share_;
  LongWay long_way_;
  Time begun_at_{};
  bool answered_ = false;  // the source has said something
  std::uint64_t credit_limit_ = 0;
  StripeMask ended_ = 0;  // END(final) came
  net::Signal room_;      // for more bytes
  net::Signal upkeep_;    // credit is due, or the conversation is over
  net::Signal upkeep_ended_;
  bool finishing_ = false;
  bool say_done_ = false;
  bool stalled_ = false;
  Time moved_at_{};  // when the source last gave bytes, or a reason for not having any
  Time sampled_at_{};
  std::uint64_t sampled_bytes_ = 0;
  bool sample_starved_ = false;  // the source had no bytes for a while since then
};

}  // namespace hoplite::node

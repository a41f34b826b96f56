#include "node/streams/receive_lane.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <asio/post.hpp>

#include "base/checksum.h"
#include "base/log.h"

namespace hoplite::node {

using protocol::Failure;
using protocol::Outcome;

ReceiveLane::ReceiveLane(Context& context, DataPlane& data_plane, DataLoop& data_loop,
                         std::shared_ptr<ReceiveSink> sink, protocol::Grant grant,
                         StripeMask stripes, std::uint32_t slot,
                         std::function<void(LaneEnd)> on_end)
    : context_(context),
      data_plane_(data_plane),
      data_loop_(data_loop),
      sink_(std::move(sink)),
      grant_(std::move(grant)),
      stripes_(stripes),
      slot_(slot),
      on_end_(std::move(on_end)),
      share_(std::in_place, data_plane.credit()),
      room_(data_loop_.loop),
      upkeep_(data_loop_.loop),
      upkeep_ended_(data_loop_.loop) {}

void ReceiveLane::Start() { context_.runtime.Spawn(data_loop_.loop, "receive lane", Run()); }

void ReceiveLane::Stop() {
  stopped_ = true;
  asio::post(data_loop_.loop, [self = shared_from_this()] {
    if (self->connection_) self->connection_->stream->Close();
    self->room_.Notify();
  });
}

net::Task<void> ReceiveLane::Run() {
  const auto self = shared_from_this();
  sink_->WakeOnRoom(&room_);
  LaneEnd end = co_await Converse();
  sink_->WakeOnRoom(nullptr);
  if (connection_) {
    if (end.outcome == Outcome::kDone) {
      data_loop_.pool.Return(connection_);
    } else {
      connection_->stream->Close();
    }
    connection_.reset();
  }
  share_.reset();
  asio::post(context_.runtime.main(), [self, end = std::move(end)] { self->on_end_(end); });
}

net::Task<LaneEnd> ReceiveLane::Converse() {
  begun_at_ = Now();
  auto connected = co_await data_loop_.pool.Take(grant_.source.address, grant_.source.id);
  LogConnect(connected);
  if (!connected) {
    const bool stopping = connected.error().code == ErrorCode::kCancelled;
    co_return Failed(stopping ? Failure::kNone : Failure::kUnreachable, connected.error().message);
  }
  connection_ = *connected;
  const OpenStream open(data_loop_, connection_->stream);
  if (stopped_) co_return Failed(Failure::kNone, "stopped");
  const auto asked = co_await SendFetch();
  if (!asked) co_return Failed(Failure::kBroken, asked.error().message);
  context_.runtime.Spawn(data_loop_.loop, "upkeep of a receive lane", Upkeep());
  LaneEnd end = co_await ReceiveFrames();
  if (end.outcome != Outcome::kDone) connection_->stream->Close();
  co_await StopUpkeep(end.outcome == Outcome::kDone);
  co_return end;
}

// When the source first answers a connection that rested has measured the way anew.
void ReceiveLane::MeasureFirst() {
  RoundTrips& round_trips = data_plane_.round_trips();
  round_trips.NoteNearest(connection_->stream->round_trip());
  MeasureWay(round_trips.QuietSince(begun_at_));
}

void ReceiveLane::MeasureWay(bool quiet) {
  const RoundTrips::Sample sample{.way = connection_->stream->round_trip(), .quiet = quiet};
  const protocol::NodeInfo& source = grant_.source;
  const bool neighbour = source.site == context_.settings.site;
  const auto place = neighbour ? RoundTrips::Place::kNeighbour : RoundTrips::Place::kSite;
  const std::string& name = neighbour ? source.address : source.site;
  long_way_.SetWay(data_plane_.round_trips().Least(place, name, sample, Now()), neighbour);
}

void ReceiveLane::LogConnect(const Result<net::ConnectionPtr>& connected) {
  if (!connected && connected.error().code == ErrorCode::kCancelled) return;
  Connects& connects = data_plane_.connects();
  const std::string news = connected ? connects.Succeeded(grant_.source)
                                     : connects.Failed(grant_.source, connected.error().message);
  if (!news.empty()) log::Warn("{}", news);
}

net::Task<Result<void>> ReceiveLane::SendFetch() {
  wire::Fetch fetch;
  fetch.object = grant_.object;
  fetch.version = grant_.version;
  fetch.grant = grant_.grant;
  fetch.slot = slot_;
  fetch.stripes = stripes_;
  fetch.next = sink_->marks();
  fetch.equality_ok = grant_.equality_ok;
  fetch.ordered = sink_->ordered();
  credit_limit_ = CreditNow().bytes;
  fetch.credit_bytes = credit_limit_;
  sampled_at_ = moved_at_ = Now();
  ++context_.counters.fetches_started;
  if (sink_->layout().valid_bytes(fetch.next) > 0) ++context_.counters.fetches_resumed;
  wire::Frame frame(std::move(fetch));
  co_return co_await connection_->Send(std::move(frame));
}

net::Task<LaneEnd> ReceiveLane::ReceiveFrames() {
  for (;;) {
    auto frame = co_await connection_->reader.Next();
    if (!frame) {
      if (stalled_) co_return Failed(Failure::kStalled, "sent nothing for too long");
      co_return Failed(Failure::kBroken, frame.error().message);
    }
    if (!std::exchange(answered_, true)) MeasureFirst();
    if (const auto* data = std::get_if<wire::Data>(&*frame)) {
      starved_ms_ = 0;
      wire::Data copy = *data;
      auto failed = co_await OnData(std::move(copy));
      if (failed) co_return std::move(*failed);
    } else if (const auto* alive = std::get_if<wire::KeepAlive>(&*frame)) {
      starved_ms_ = alive->starved_ms;
      if (alive->starved_ms > 0) {
        moved_at_ = Now();
        long_way_.Starved();
        sample_starved_ = true;
      }
    } else if (const auto* end = std::get_if<wire::End>(&*frame)) {
      if (auto over = OnEnd(*end)) co_return std::move(*over);
    } else {
      co_return Failed(Failure::kBroken, "sent an unexpected frame");
    }
  }
}

// Bytes land where they belong; a block counts when it is whole and its checksum is right.
net::Task<std::optional<LaneEnd>> ReceiveLane::OnData(wire::Data data) {
  const Layout& layout = sink_->layout();
  const bool ours = data.stripe < layout.stripe_count && (stripes_ >> data.stripe & 1) != 0;
  if (!ours || data.first_block != sink_->mark(data.stripe) ||
      data.block_count > layout.stripe_block_count(data.stripe) - data.first_block) {
    co_return Failed(Failure::kBroken, "sent blocks that were not asked for");
  }
  const ByteRange piece = layout.piece(data.stripe, data.first_block, data.block_count);
  if (piece.size() != data.payload_bytes ||
      piece.size() <= std::uint64_t{data.block_count - 1} * layout.block_bytes ||
      received_ + piece.size() > credit_limit_) {
    co_return Failed(Failure::kBroken, "sent a piece of the wrong size or beyond its credit");
  }
  const std::uint64_t first = layout.block_at(data.stripe, data.first_block);
  std::uint64_t filled = piece.begin;
  std::uint32_t verified = 0;
  while (filled < piece.end) {
    const std::span<std::byte> room = co_await AwaitRoom(filled, piece.end);
    if (room.empty()) co_return Failed(Failure::kNone, "stopped");
    const auto got = co_await connection_->reader.ReceivePayloadSome(room);
    if (!got) {
      co_return Failed(stalled_ ? Failure::kStalled : Failure::kBroken, got.error().message);
    }
    filled += *got;
    received_ += *got;
    context_.counters.bytes_received += *got;
    moved_at_ = Now();
    data_plane_.round_trips().NoteBytes(moved_at_);
    long_way_.Came(moved_at_, {.own = received_,
                               .all = context_.counters.bytes_received,
                               .streams = data_plane_.credit().flowing()});
    while (verified < data.block_count) {
      const ByteRange block = layout.block_range(first + verified);
      if (block.end > filled) break;
      if (BlockChecksum(sink_->Received(block)) != data.checksums[verified]) {
        ++context_.counters.corrupt_blocks;
        log::Warn("object {} version {}: block {} from {} failed its checksum",
                  grant_.object.ToHex(), ToString(grant_.version), first + verified,
                  grant_.source.name);
        co_return Failed(Failure::kCorrupt, "a block failed its checksum");
      }
      sink_->Take(data.stripe, first + verified, data.checksums[verified]);
      ++verified;
    }
    sink_->Flush(data.stripe);
    const InboundCredit::Credit credit = CreditNow();
    if (received_ + credit.bytes > credit_limit_ + CreditDue(credit)) upkeep_.Notify();
  }
  co_return std::nullopt;
}

// The source is not to blame while there is none. Empty: the lane was stopped.
net::Task<std::span<std::byte>> ReceiveLane::AwaitRoom(std::uint64_t begin, std::uint64_t end) {
  std::span<std::byte> room = sink_->Room(begin, end);
  while (room.empty() && !stopped_) {
    moved_at_ = Now();
    co_await room_.Wait(moved_at_ + context_.settings.keepalive);
    room = sink_->Room(begin, end);
  }
  co_return room;
}

std::optional<LaneEnd> ReceiveLane::OnEnd(const wire::End& end) {
  using wire::EndReason;
  if (end.reason == EndReason::kNotAhead) return Failed(Failure::kNotAhead, "is not ahead");
  if (end.reason == EndReason::kUnknown) return Failed(Failure::kUnknown, "does not have it");
  if (end.reason != EndReason::kFinal) return Failed(Failure::kNone, std::string(Name(end.reason)));
  if ((end.stripes & ~(stripes_ & ~ended_)) != 0) {
    return Failed(Failure::kBroken, "ended stripes that it was not to send");
  }
  for (std::uint32_t s = 0; s < sink_->layout().stripe_count; ++s) {
    if ((end.stripes >> s & 1) != 0 && sink_->mark(s) != sink_->layout().stripe_block_count(s)) {
      return Failed(Failure::kBroken, "called an incomplete stripe final");
    }
  }
  moved_at_ = Now();
  ended_ |= end.stripes;
  sink_->Ended(end.stripes);
  if (ended_ != stripes_) return std::nullopt;
  if (sampled_bytes_ == 0 && !sample_starved_)
    data_plane_.credit().NoteShort(received_, moved_at_ - sampled_at_);
  return LaneEnd();
}

// The only sender after FETCH: credit when it is due, keep-alives otherwise, DONE at the end. It
// also gives up a source that owes bytes (there always is credit) or says that it has none, and
// does neither for too long.
net::Task<void> ReceiveLane::Upkeep() {
  const auto self = shared_from_this();
  const net::ConnectionPtr connection = connection_;
  const Settings& settings = context_.settings;
  while (!finishing_) {
    const Time now = Now();
    co_await upkeep_.Wait(now + settings.keepalive);
    if (finishing_) break;
    if (Now() - moved_at_ > settings.stall) {
      stalled_ = true;
      connection->stream->Close();
      break;
    }
    Sample(Now());
    const std::uint64_t limit = received_ + CreditNow().bytes;
    wire::Frame frame{wire::KeepAlive{}};
    if (limit > credit_limit_) {
      credit_limit_ = limit;
      frame = wire::Credit{limit};
    }
    const auto sent = co_await connection->Send(std::move(frame));
    if (!sent) break;
  }
  if (say_done_) {
    wire::Frame done{wire::Done{}};
    const auto sent = co_await connection->Send(std::move(done));
    if (!sent) connection->stream->Close();
  }
  upkeep_ended_.Notify();
}

net::Task<void> ReceiveLane::StopUpkeep(bool say_done) {
  finishing_ = true;
  say_done_ = say_done;
  upkeep_.Notify();
  co_await upkeep_ended_.Wait();
}

// Over a long way a newcomer, whose bytes come in bursts, would use less of its credit than older
// streams if credit came later. Within a site earlier credit takes the link from the data of the other
// direction: in an allreduce, whose links are full both ways, 4 %.
std::uint64_t ReceiveLane::CreditDue(const InboundCredit::Credit& credit) const {
  return credit.bytes == credit.queue ? credit.queue / 2 : credit.queue / 4;
}

InboundCredit::Credit ReceiveLane::CreditNow() const {
  return share_->CreditFor(static_cast<double>(rate_.load()), long_way_,
                           2 * std::uint64_t{sink_->layout().block_bytes});
}

// A sample counts only if the source had bytes to send all the while.
void ReceiveLane::Sample(Time now) {
  constexpr Duration kIdle = std::chrono::milliseconds(30);
  const Duration elapsed = now - sampled_at_;
  if (elapsed < InboundCredit::kSample) return;
  if (answered_) MeasureWay(false);
  const std::uint64_t received = received_;
  const bool starved = std::exchange(sample_starved_, starved_ms_ > 0);
  if (!starved && received > sampled_bytes_) {
    const double sample = static_cast<double>(received - sampled_bytes_) / ToSeconds(elapsed);
    const double before = static_cast<double>(rate_.load());
    const double weight = before == 0 ? 1 : InboundCredit::Weight(elapsed, long_way_.way());
    rate_ = static_cast<std::uint64_t>(before + weight * (sample - before));
    share_->SetRate(rate_, weight);
  } else if (received == sampled_bytes_ && elapsed >= kIdle) {
    share_->SetRate(0);
  }
  sampled_at_ = now;
  sampled_bytes_ = received;
}

// One that was stopped while it could not connect still says so: who moves its receiver from source to
// source would never hear which of them is out of reach.
LaneEnd ReceiveLane::Failed(Failure failure, std::string why) const {
  const bool apart = failure == Failure::kUnreachable;
  if (stopped_) return {Outcome::kAbandoned, apart ? failure : Failure::kNone, "stopped"};
  return {Outcome::kFailed, failure, grant_.source.name + ": " + why};
}

}  // namespace hoplite::node

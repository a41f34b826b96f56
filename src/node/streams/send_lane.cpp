#include "node/streams/send_lane.h"

#include <algorithm>
#include <deque>

#include "base/block_order.h"
#include "base/log.h"
#include "base/units.h"

namespace hoplite::node {
namespace {

// So many bytes go by one call; others on the loop have their turn after as many.
constexpr std::uint64_t kMostByOneCall = 256_KiB;

// Why a copy that is void is not served any more.
wire::EndReason EndReasonOf(const store::Copy& copy) {
  switch (copy.void_reason()) {
    case store::VoidReason::kRecalled:
      return wire::EndReason::kRecalled;
    case store::VoidReason::kDeleted:
      return wire::EndReason::kDeleted;
    case store::VoidReason::kGivenBack:
      return wire::EndReason::kNotAhead;
    case store::VoidReason::kAborted:
    case store::VoidReason::kLost:
    case store::VoidReason::kNone:
      return wire::EndReason::kMoved;
  }
  return wire::EndReason::kInternal;
}

}  // namespace

SendLane::SendLane(Context& context, net::ConnectionPtr connection, store::CopyPtr copy,
                   wire::Fetch fetch)
    : context_(context),
      connection_(std::move(connection)),
      copy_(std::move(copy)),
      fetch_(std::move(fetch)),
      changed_(connection_->stream->loop()),
      guard_(connection_->stream->loop()),
      helper_ended_(connection_->stream->loop()),
      credit_bytes_(fetch_.credit_bytes),
      moved_at_(Now()),
      spoke_at_(moved_at_) {
  copy_->AddListener(this);
}

SendLane::~SendLane() { copy_->RemoveListener(this); }

net::Task<bool> SendLane::Run() {
  const auto self = shared_from_this();
  helpers_ = 2;
  context_.runtime.Spawn(connection_->stream->loop(), "reader of a send lane", Read());
  context_.runtime.Spawn(connection_->stream->loop(), "guard of a send lane", Guard());
  const bool sent = co_await SendAll();
  // The pin is held until the receiver says DONE or hangs up: the kernel may still be reading these
  // pages.
  while (sent && !done_ && !broken_) co_await changed_.Wait();
  over_ = true;
  guard_.Notify();
  if (!done_) connection_->stream->Abort();
  while (helpers_ > 0) co_await helper_ended_.Wait();
  co_return done_;
}

net::Task<bool> SendLane::SendAll() {
  while (!broken_) {
    if (copy_->state() == store::CopyState::kVoid) {
      co_return co_await SendFrame(PrepareEnd(wire::End(EndReasonOf(*copy_))));
    }
    if (const StripeMask stripes = StripesToEnd()) {
      if (!co_await SendFrame(PrepareEnd(wire::End(wire::EndReason::kFinal, stripes))))
        co_return false;
    } else if (const auto piece = NextPiece()) {
      if (!co_await SendPieces(*piece)) co_return false;
    } else if (!co_await WaitOrKeepAlive()) {
      co_return false;
    }
    if (end_sent_) co_return true;
  }
  co_return false;
}

// The block that goes next, and as many behind it as are here, contiguous and within credit. None if
// there is no credit for it, even if the object's last one, which may be short, would pass.
std::optional<SendLane::Piece> SendLane::NextPiece() const {
  const std::optional<std::uint32_t> s = StripeToSend();
  if (!s) return std::nullopt;
  const Layout& layout = copy_->layout();
  const std::uint64_t credit_blocks = (credit_bytes_ - sent_bytes_) / layout.block_bytes;
  const std::uint64_t last_bytes = layout.size_bytes % layout.block_bytes;
  const bool last_may_be_short = last_bytes != 0 && credit_bytes_ - sent_bytes_ >= last_bytes;
  const std::uint32_t next = fetch_.next[*s];
  const std::uint32_t available = copy_->mark(*s) - next;
  const bool short_one = layout.block_at(*s, next) + 1 == layout.block_count() && last_may_be_short;
  const std::uint64_t blocks =
      std::min<std::uint64_t>({available, std::max<std::uint64_t>(credit_blocks, short_one ? 1 : 0),
                               wire::kMaxPayloadBlocks});
  if (blocks == 0) return std::nullopt;
  return Piece{*s, next, static_cast<std::uint32_t>(blocks)};
}

std::optional<std::uint32_t> SendLane::StripeToSend() const {
  return NextStripe(copy_->layout(), fetch_.stripes, fetch_.next, copy_->marks(), fetch_.ordered);
}

bool SendLane::Sent(std::uint32_t stripe) const {
  return fetch_.next[stripe] == copy_->layout().stripe_block_count(stripe);
}

// Nobody waits for less than the whole of a copy that is final.
StripeMask SendLane::StripesToEnd() const {
  const StripeMask due = copy_->final_stripes() & fetch_.stripes & ~ended_;
  StripeMask sent = 0;
  for (std::uint32_t s = 0; s < fetch_.next.size() && due != 0; ++s) {
    if ((due >> s & 1) != 0 && Sent(s)) sent |= StripeMask{1} << s;
  }
  return copy_->state() == store::CopyState::kFinal && sent != due ? 0 : sent;
}

// The frames that are ready, in one go, and END with the last.
net::Task<bool> SendLane::SendPieces(Piece first) {
  if (copy_->on_disk()) co_return co_await SendFromDisk(first);
  starved_since_ = kNever;
  std::deque<std::vector<std::byte>> heads;
  std::vector<net::Outgoing> ready;
  std::uint64_t bytes = 0;
  for (std::optional<Piece> piece = first; piece && bytes < kMostByOneCall; piece = NextPiece()) {
    net::Payload payload;
    heads.push_back(Prepare(*piece, payload));
    ready.push_back({heads.back(), payload});
    bytes += payload.bytes.size();
  }
  if (const StripeMask stripes = StripesToEnd()) {
    heads.push_back(PrepareEnd(wire::End(wire::EndReason::kFinal, stripes)));
    ready.push_back({heads.back(), net::Payload()});
  }
  sending_ = true;
  const auto sent = co_await connection_->stream->SendMany(ready);
  sending_ = false;
  spoke_at_ = moved_at_ = Now();
  if (sent) context_.counters.bytes_sent += bytes;
  co_return sent.has_value();
}

// A run lies in one piece of the disk's: both are powers of two. The receiver hears at once of a wait,
// and takes no sample of its link meanwhile (R124). Whoever waits for the disk may be kept waiting by
// other lanes that have pieces, never by one that waits.
net::Task<bool> SendLane::SendFromDisk(Piece piece) {
  const ByteRange range = copy_->layout().piece(piece.stripe, piece.first, piece.blocks);
  DiskPieces& pieces = *context_.memory.spiller()->pieces();
  const DiskPieces::Use use = pieces.Want(copy_, range.begin, [this] { changed_.Notify(); });
  awaits_disk_ = true;
  if (!use->ready()) {
    constexpr wire::KeepAlive kStarves{1};
    std::vector<std::byte> frame = wire::Encode(wire::Frame(kStarves));
    if (!co_await SendFrame(std::move(frame))) co_return false;
  }
  while (!use->ready() && !use->failed() && copy_->state() == store::CopyState::kFinal) {
    if (!co_await WaitOrKeepAlive()) co_return false;
  }
  awaits_disk_ = false;
  moved_at_ = Now();
  if (use->failed()) {
    co_await SendFrame(PrepareEnd(wire::End(wire::EndReason::kInternal)));
    co_return false;
  }
  if (!use->ready()) co_return !broken_;  // the copy is void
  pieces.ReadAhead(copy_, use->end());
  net::Payload payload;
  const std::vector<std::byte> head = Prepare(piece, payload);
  payload.bytes = use->bytes().subspan(range.begin - use->begin(), range.size());
  payload.passing = true;
  starved_since_ = kNever;
  sending_ = true;
  const auto sent = co_await connection_->stream->Send(head, payload);
  sending_ = false;
  spoke_at_ = moved_at_ = Now();
  if (sent) context_.counters.bytes_sent += range.size();
  co_return sent.has_value();
}

std::vector<std::byte> SendLane::Prepare(const Piece& piece, net::Payload& payload) {
  const Layout& layout = copy_->layout();
  const ByteRange range = layout.piece(piece.stripe, piece.first, piece.blocks);
  wire::Data data;
  data.stripe = piece.stripe;
  data.first_block = piece.first;
  data.payload_bytes = static_cast<std::uint32_t>(range.size());
  data.block_count =
      static_cast<std::uint32_t>((range.size() + layout.block_bytes - 1) / layout.block_bytes);
  const std::uint64_t first = layout.block_at(piece.stripe, piece.first);
  for (std::uint32_t i = 0; i < data.block_count; ++i)
    data.checksums[i] = copy_->checksum(first + i);
  fetch_.next[piece.stripe] += data.block_count;
  sent_bytes_ += range.size();
  if (copy_->on_disk()) return wire::Encode(wire::Frame(data));
  payload.bytes = copy_->bytes().subspan(range.begin, range.size());
  payload.descriptor = context_.store.segment().descriptor();
  payload.descriptor_offset = copy_->segment_offset() + range.begin;
  return wire::Encode(wire::Frame(data));
}

std::vector<std::byte> SendLane::PrepareEnd(wire::End end) {
  ended_ |= end.stripes;
  end_sent_ = end.reason != wire::EndReason::kFinal || ended_ == fetch_.stripes;
  moved_at_ = Now();
  return wire::Encode(wire::Frame(end));
}

net::Task<bool> SendLane::SendFrame(std::vector<std::byte> frame) {
  const net::Payload none;
  sending_ = true;
  const auto sent = co_await connection_->stream->Send(frame, none);
  sending_ = false;
  spoke_at_ = Now();
  co_return sent.has_value();
}

// Nothing to send: bytes, credit or the end will wake us; so does whatever the receiver says, which
// must not put off what we owe it. False when the receiver is gone.
net::Task<bool> SendLane::WaitOrKeepAlive() {
  if (starved_since_ == kNever) starved_since_ = Now();
  const Time due = spoke_at_ + context_.settings.keepalive;
  if (co_await changed_.Wait(due) && Now() < due) co_return !broken_;
  if (broken_) co_return false;
  const auto starved =
      std::chrono::duration_cast<std::chrono::milliseconds>(Now() - starved_since_);
  const bool starves = awaits_disk_ || !StripeToSend();
  const auto starved_ms = !starves ? 0 : static_cast<std::uint32_t>(starved.count());
  std::vector<std::byte> alive = wire::Encode(wire::Frame(wire::KeepAlive{starved_ms}));
  co_return co_await SendFrame(std::move(alive));
}

// A receiver owes three things: it reads what is sent, gives credit for what waits here, and says
// DONE after END.
Time SendLane::LastMove() const {
  if (sending_) return std::max(moved_at_, connection_->stream->last_sent());
  return !awaits_disk_ && (end_sent_ || StripeToSend()) ? moved_at_ : Now();
}

net::Task<void> SendLane::Read() {
  const auto self = shared_from_this();
  while (!done_ && !broken_) {
    auto frame = co_await connection_->reader.Next();
    if (!frame) {
      broken_ = true;
    } else if (const auto* credit = std::get_if<wire::Credit>(&*frame)) {
      if (credit->limit_bytes > credit_bytes_) moved_at_ = Now();
      credit_bytes_ = std::max(credit_bytes_, credit->limit_bytes);
    } else if (std::holds_alternative<wire::Done>(*frame) && end_sent_) {
      done_ = true;
    } else if (!std::holds_alternative<wire::KeepAlive>(*frame)) {
      broken_ = true;
    }
    changed_.Notify();
  }
  if (broken_) connection_->stream->Abort();
  --helpers_;
  helper_ended_.Notify();
}

net::Task<void> SendLane::Guard() {
  const auto self = shared_from_this();
  while (!over_) {
    co_await guard_.Wait(Now() + context_.settings.keepalive);
    const Time now = Now();
    moved_at_ = LastMove();
    const bool silent = now - connection_->stream->last_received() > context_.settings.stall;
    const bool stuck = now - moved_at_ > context_.settings.patience();
    if (!over_ && (silent || stuck)) {
      broken_ = true;
      connection_->stream->Abort();
      changed_.Notify();
      break;
    }
  }
  --helpers_;
  helper_ended_.Notify();
}

}  // namespace hoplite::node

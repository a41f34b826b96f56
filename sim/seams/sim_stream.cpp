#include "sim/seams/sim_stream.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/clock.h"

namespace hoplite::net {

void Half::Piece::Own() {
  owned.assign(bytes.begin(), bytes.end());
  bytes = owned;
}

void Half::End() {
  ended = true;
  if (readable != nullptr) readable->Notify();
}

void Half::Refuse() {
  refused = true;
  if (writable != nullptr) writable->Notify();
}

SimStream::SimStream(InternetPtr internet, asio::io_context& loop, HalfPtr in, HalfPtr out,
                     std::string peer)
    : internet_(std::move(internet)),
      loop_(loop),
      in_(std::move(in)),
      out_(std::move(out)),
      peer_address_(std::move(peer)),
      readable_(loop),
      writable_(loop),
      last_sent_(Now()) {
  in_->last_arrival = Now();
  in_->readable = &readable_;
  out_->writable = &writable_;
}

SimStream::~SimStream() {
  Close();
  in_->readable = nullptr;
  out_->writable = nullptr;
}

Task<Result<void>> SimStream::Send(std::span<const std::byte> head, Payload payload) {
  const auto self = shared_from_this();
  const std::span<const std::byte> both[] = {head, payload.bytes};
  for (std::span<const std::byte> rest : both) {
    const bool own = rest.data() == head.data() || payload.passing;
    while (!rest.empty()) {
      if (closed_) co_return std::unexpected(Closed());
      if (out_->refused) co_return std::unexpected(Ended());
      if (out_->held >= internet_->buffer_bytes) {
        co_await writable_.Wait();
        continue;
      }
      const auto piece = rest.first(
          std::min({rest.size(), internet_->piece_bytes, internet_->buffer_bytes - out_->held}));
      Push(piece, own);
      rest = rest.subspan(piece.size());
    }
  }
  co_return Result<void>();
}

void SimStream::Push(std::span<const std::byte> bytes, bool own) {
  Half::Piece& piece = out_->pieces.emplace_back();
  piece.bytes = bytes;
  if (own) {
    piece.Own();
  } else {
    internet_->on_payload();
  }
  piece.checksum = BlockChecksum(bytes);
  out_->held += bytes.size();
  last_sent_ = Now();
  out_->wire->Send(bytes.size(), [half = out_, internet = internet_.get()] {
    const Half::Piece arrives = std::move(half->pieces.front());
    half->pieces.pop_front();
    if (BlockChecksum(arrives.bytes) != arrives.checksum) {
      internet->broken("P3: bytes changed in their sender's memory while they were under way");
    }
    half->arrived.insert(half->arrived.end(), arrives.bytes.begin(), arrives.bytes.end());
    half->last_arrival = Now();
    if (half->readable != nullptr) half->readable->Notify();
  });
}

Task<Result<std::size_t>> SimStream::ReceiveSome(std::span<std::byte> into) {
  const auto self = shared_from_this();
  Half& in = *in_;
  while (!closed_ && in.read == in.arrived.size() && !in.ended) co_await readable_.Wait();
  if (closed_) co_return std::unexpected(Closed());
  if (in.read == in.arrived.size()) co_return std::unexpected(Ended());
  const std::size_t count = std::min(into.size(), in.arrived.size() - in.read);
  std::copy_n(in.arrived.begin() + static_cast<std::ptrdiff_t>(in.read), count, into.begin());
  in.read += count;
  if (in.read == in.arrived.size()) {
    in.arrived.clear();
    in.read = 0;
  }
  in.held -= count;
  if (in.writable != nullptr) in.writable->Notify();
  co_return count;
}

void SimStream::Close() {
  if (closed_) return;
  Leave();
  SayGoodbye();
}

void SimStream::Abort() {
  if (closed_) return;
  Leave();
  out_->wire->Clear();
  out_->pieces.clear();
  SayGoodbye();
}

void SimStream::Leave() {
  closed_ = true;
  readable_.Notify();
  writable_.Notify();
  in_->wire->Clear();
  in_->pieces.clear();
}

// The peer hears of the end after everything that was sent before.
void SimStream::SayGoodbye() {
  out_->wire->Send(1, [in = in_, out = out_] {
    out->End();
    in->Refuse();
    in->wire->Cut();
    in->pieces.clear();
  });
}

void SimStream::Die(Death death) {
  if (closed_) return;
  Leave();
  in_->wire->Cut();
  if (death == Death::kKilled) {
    for (Half::Piece& piece : out_->pieces) {
      if (piece.owned.empty()) piece.Own();
    }
    SayGoodbye();
  } else {
    out_->pieces.clear();
    out_->wire->Cut();
  }
}

void SimStream::Break() {
  for (const HalfPtr& half : {in_, out_}) {
    half->wire->Cut();
    half->pieces.clear();
    half->End();
    half->Refuse();
  }
}

void SimStream::Pretend(std::span<const std::byte> bytes) {
  in_->arrived.insert(in_->arrived.end(), bytes.begin(), bytes.end());
  in_->held += bytes.size();
  readable_.Notify();
}

bool SimStream::sends_objects() const {
  return std::ranges::any_of(out_->pieces, [](const auto& piece) { return piece.owned.empty(); });
}

bool SimStream::quiet() { return !closed_ && !in_->ended && in_->read == in_->arrived.size(); }

Error SimStream::Closed() const {
  return {ErrorCode::kCancelled, "the stream to " + peer_address_ + " was closed here"};
}

Error SimStream::Ended() const {
  return {ErrorCode::kUnavailable, "closed by peer " + peer_address_};
}

}  // namespace hoplite::net

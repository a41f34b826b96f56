// SendLane: serves one FETCH over one connection, from a copy that may still be growing.
//
// The writer sends what lies between the receiver's watermark and ours, within the receiver's
// credit: always the lowest block that is here, of all asked stripes, or in the object's order if
// the receiver asked for that (R19); and END of stripes that are sent and final, which ends the fetch
// when it was said of all: of a final copy once, of one that grows for each as soon as it may (R64). With nothing to send it waits, and says KEEPALIVE with how long
// it has been starved. The reader takes the receiver's credit and its DONE. The guard closes the
// connection of a receiver that has been silent for too long, or that talks but takes nothing of
// what it is owed, also in the middle of a send. A copy on a disk is sent piece by piece (R121): while
// the lane waits for one it has no other, owes nothing, and says that it is starved. On a data loop.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "net/connection.h"
#include "net/signal.h"
#include "node/core/context.h"
#include "store/copy.h"
#include "wire/frame.h"

namespace hoplite::node {

class SendLane : public std::enable_shared_from_this<SendLane>, private store::CopyListener {
 public:
  SendLane(Context& context, net::ConnectionPtr connection, store::CopyPtr copy, wire::Fetch fetch);
  ~SendLane() override;

  // True when the conversation is complete and the connection may carry another fetch.
  net::Task<bool> Run();

 private:
  struct Piece {
    std::uint32_t stripe = 0;
    std::uint32_t first = 0;
    std::uint32_t blocks = 0;
  };

  void OnCopyChanged() noexcept override { changed_.Notify(); }
  std::optional<Piece> NextPiece() const;
  std::optional<std::uint32_t> StripeToSend() const;  // of what is here; none: nothing is
  bool Sent(std::uint32_t stripe) const;              // all of it
  StripeMask StripesToEnd() const;
  Time LastMove() const;  // when the receiver last took something, or was owed nothing
  net::Task<bool> SendAll();
  net::Task<bool> SendPieces(Piece first);
  net::Task<bool> SendFromDisk(Piece piece);
  std::vector<std::byte> Prepare(const Piece& piece, net::Payload& payload);
  std::vector<std::byte> PrepareEnd(wire::End end);
  net::Task<bool> SendFrame(std::vector<std::byte> frame);
  net::Task<bool> WaitOrKeepAlive();
  net::Task<void> Read();
  net::Task<void> Guard();

  Context& context_;
  const net::ConnectionPtr connection_;
  const store::CopyPtr copy_;
  wire::Fetch fetch_;  // next moves on as blocks are sent
  net::Signal changed_;
  net::Signal guard_;
  net::Signal helper_ended_;
  int helpers_ = 0;
  std::uint64_t credit_bytes_;
  std::uint64_t sent_bytes_ = 0;
  bool sending_ = false;
  bool awaits_disk_ = false;
  Time moved_at_;                // see LastMove; brought up to date by the guard
  Time spoke_at_;                // when anything was last sent: keep-alives are due after that
  Time starved_since_ = kNever;  // since when there has been nothing to send
  StripeMask ended_ = 0;         // END(final) was said
  bool end_sent_ = false;
  bool done_ = false;  // the receiver has everything
  bool broken_ = false;
  bool over_ = false;
};

}  // namespace hoplite::node

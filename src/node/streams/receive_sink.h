// ReceiveSink: where a lane puts what it receives. A fetch writes into its copy; a slot of a
// reduction folds into its output. Used on the lane's data loop only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/layout.h"
#include "net/signal.h"
#include "store/copy.h"
#include "store/object_store.h"

namespace hoplite::node {

class ReceiveSink {
 public:
  virtual ~ReceiveSink() = default;
  virtual const Layout& layout() const = 0;
  // How many blocks of each stripe were taken: where a fetch starts, or resumes.
  virtual StripeMarks marks() const = 0;
  virtual std::uint32_t mark(std::uint32_t stripe) const = 0;
  // Memory for the object's bytes from `begin` on, at most up to `end`. `begin` goes on where the
  // last bytes ended, or is the start of the next piece. Empty: none for now, see WakeOnRoom.
  virtual std::span<std::byte> Room(std::uint64_t begin, std::uint64_t end) = 0;
  // Whether its memory moves along the object, so that blocks must come in the object's order (R19):
  // what came before its turn would wait for room, and what makes room behind it.
  virtual bool ordered() const { return false; }
  // Notified when there may be room again; null: not any more.
  virtual void WakeOnRoom(net::Signal* /*signal*/) {}
  // What Room took of this block, whole.
  virtual std::span<const std::byte> Received(ByteRange block) const = 0;
  // The stripe's next block is verified: counts from now on, or at the latest with Flush.
  virtual void Take(std::uint32_t stripe, std::uint64_t block, std::uint64_t checksum) = 0;
  virtual void Flush(std::uint32_t stripe) = 0;
  // These stripes are final at the source, and all of them was taken.
  virtual void Ended(StripeMask /*stripes*/) {}
};

// Straight into a copy, or a window on one: nothing is moved twice.
class CopySink final : public ReceiveSink, public store::CopyListener {
 public:
  explicit CopySink(store::CopyPtr copy) : copy_(std::move(copy)) {}

  const Layout& layout() const override { return copy_->layout(); }
  StripeMarks marks() const override { return copy_->marks(); }
  std::uint32_t mark(std::uint32_t stripe) const override { return copy_->mark(stripe); }
  std::span<std::byte> Room(std::uint64_t begin, std::uint64_t end) override {
    const std::span<std::byte> from = copy_->bytes().subspan(begin % copy_->bytes().size());
    const std::uint64_t room_end = std::min(end, copy_->room_end());
    return from.first(std::min<std::uint64_t>(room_end - std::min(begin, room_end), from.size()));
  }
  bool ordered() const override { return copy_->windowed(); }
  void WakeOnRoom(net::Signal* signal) override {
    if (!copy_->windowed()) return;
    if (room_ != nullptr) copy_->RemoveListener(this);
    room_ = signal;
    if (room_ != nullptr) copy_->AddListener(this);
  }
  void OnCopyChanged() noexcept override { room_->Notify(); }
  std::span<const std::byte> Received(ByteRange block) const override {
    return copy_->bytes().subspan(block.begin % copy_->bytes().size(), block.size());
  }
  void Take(std::uint32_t stripe, std::uint64_t block, std::uint64_t checksum) override {
    copy_->SetChecksum(block, checksum);
    stripe_ = stripe;
    taken_ = copy_->layout().index_in_stripe(block) + 1;
  }
  void Flush(std::uint32_t stripe) override {
    if (stripe == stripe_ && taken_ > copy_->mark(stripe)) copy_->Advance(stripe, taken_);
  }

 private:
  const store::CopyPtr copy_;
  net::Signal* room_ = nullptr;
  std::uint32_t stripe_ = 0;  // of the last block
  std::uint32_t taken_ = 0;   // blocks of that
};

}  // namespace hoplite::node

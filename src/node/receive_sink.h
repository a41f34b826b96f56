// ReceiveSink: where a lane puts what it receives. A fetch writes into its copy; a position of a
// reduction folds into its output. Used on the lane's data loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/layout.h"
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
  // Memory for the object's bytes from `begin` on, at most up to `end`, never empty. `begin` goes
  // on where the last bytes ended, or is the start of the next piece.
  virtual std::span<std::byte> Room(std::uint64_t begin, std::uint64_t end) = 0;
  // What Room took of this block, whole.
  virtual std::span<const std::byte> Received(ByteRange block) const = 0;
  // The stripe's next block is verified: counts from now on, or at the latest with Flush.
  virtual void Take(std::uint32_t stripe, std::uint64_t block, std::uint64_t checksum) = 0;
  virtual void Flush(std::uint32_t stripe) = 0;
};

// Straight into a copy: nothing is moved twice.
class CopySink final : public ReceiveSink {
 public:
  explicit CopySink(store::CopyPtr copy) : copy_(std::move(copy)) {}

  const Layout& layout() const override { return copy_->layout(); }
  StripeMarks marks() const override { return copy_->marks(); }
  std::uint32_t mark(std::uint32_t stripe) const override { return copy_->mark(stripe); }
  std::span<std::byte> Room(std::uint64_t begin, std::uint64_t end) override {
    return copy_->bytes().subspan(begin, end - begin);
  }
  std::span<const std::byte> Received(ByteRange block) const override {
    return copy_->bytes().subspan(block.begin, block.size());
  }
  void Take(std::uint32_t /*stripe*/, std::uint64_t block, std::uint64_t checksum) override {
    copy_->SetChecksum(block, checksum);
    taken_ = copy_->layout().index_in_stripe(block) + 1;
  }
  void Flush(std::uint32_t stripe) override {
    if (taken_ > copy_->mark(stripe)) copy_->Advance(stripe, taken_);
  }

 private:
  const store::CopyPtr copy_;
  std::uint32_t taken_ = 0;  // of the stripe of the present piece
};

}  // namespace hoplite::node

// Publication: one Put under way, from reserved memory to an accepted, final copy.
//
// Decides: when to announce (large objects at once, small ones with their bytes at Seal) and when
// the copy is final. Is told: how far the client has written, what the shard answered. Must never:
// show the copy to any Get before the shard accepted its creation.
//
//   client writes -> written_ grows -> checksums: its own, or the pool's -> marks grow -> others
//   pull
//
// Main loop only, except that checksums are computed on the pool.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "node/context.h"
#include "node/operations.h"

namespace hoplite::node {

class Publication final : public Draft, public std::enable_shared_from_this<Publication> {
 public:
  // attempt: never used twice by this node.
  Publication(Context& context, EntryPtr entry, store::CopyPtr copy, std::uint64_t attempt);
  ~Publication() override;

  const store::CopyPtr& copy() const override { return copy_; }
  Result<void> Advance(std::uint64_t prefix_bytes,
                       std::span<const std::uint64_t> checksums) override;
  net::Task<Result<void>> Seal(CallPtr call) override;
  void Abort() override;

  // Large objects: others may pull while the client still writes.
  void AnnounceEarly();

  // The shard's answer. Accept makes the copy visible; Refuse tells the client why.
  void Accept(Version version);
  void Refuse(Error error);
  // The object was deleted, or a newer version was accepted elsewhere.
  void Revoke(Error error, store::VoidReason reason);

  bool accepted() const { return static_cast<bool>(copy_->version()); }
  // An announcement that the shard has not answered; the inventory repeats it.
  std::optional<planner::Create> OpenCreate();

 private:
  bool small() const { return copy_->layout().size_bytes <= context_.settings.inline_limit_bytes; }
  void Announce();
  planner::Create MakeCreate() const;
  Result<void> CheckAdvance(std::uint64_t prefix_bytes, std::size_t checksum_count) const;
  bool TakeChecksums(std::uint64_t prefix_bytes, std::span<const std::uint64_t> checksums);
  void PumpChecksums();
  void OnPumped();
  void MaybeFinish();
  void Leave();  // the entry forgets this Put

  Context& context_;
  const EntryPtr entry_;
  const store::CopyPtr copy_;
  const std::uint64_t attempt_;

  std::atomic<std::uint64_t> written_{0};
  std::uint64_t summed_blocks_ = 0;  // blocks with a checksum; a running pump's own
  bool pumping_ = false;
  bool announced_ = false;
  bool told_ = false;  // in a session
  bool seal_asked_ = false;
  bool finished_ = false;
  std::optional<Error> failure_;
};

}  // namespace hoplite::node

// Accumulator: the growing output of one slot of a reduction.
//
// Decides: when a block of the output is complete (every input folded exactly once) and so may be
// served. Is told: which stripes each child feeds, verified blocks of children, growth of the node's
// own sources. Must never: fold an input's block twice, advance the output over a block that lacks an
// input, or touch a stripe that it is not asked to fold.
//
// Per stripe it keeps how many blocks of each input are folded; the output's mark is their minimum,
// over the children that feed this stripe: one that is not known yet may feed any. Inputs may come
// in any order and at any speed. A stripe is touched by one data loop only, which is the caller's to
// keep; marks may be read anywhere.
//
//   child's stream --> scratch (stays in cache) --\
//                                                  out = own + scratch     first of a block
//   own source (in shared memory) ----------------/ out = out + scratch    every later one
//                                                  out = out / sources     last, at the root of a mean
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "node/streams/receive_sink.h"
#include "planner/words/folder.h"
#include "protocol/reduce_event.h"
#include "store/object_store.h"

namespace hoplite::node {

class Accumulator {
 public:
  // `out` is empty; `own` have its layout, are valid up to their marks, and may still grow. `root`:
  // what it makes is the target, not to be folded on.
  Accumulator(store::CopyPtr out, const protocol::Fold& fold, std::vector<store::CopyPtr> own,
              std::uint32_t children, bool root);

  const Layout& layout() const { return out_->layout(); }
  std::uint32_t mark(std::uint32_t stripe) const { return out_->mark(stripe); }
  // This child feeds these stripes, and no others. Any thread; before its first block.
  void Feeds(std::uint32_t child, StripeMask stripes) { children_[child]->stripes = stripes; }
  // Blocks of this child that are folded.
  std::uint32_t child_mark(std::uint32_t child, std::uint32_t stripe) const;
  // Folds the child's next block of the stripe.
  void FoldChild(std::uint32_t child, std::uint32_t stripe, std::uint64_t block,
                 std::span<const std::byte> bytes);
  // Folds what own sources have beyond what was folded, `limit` blocks at most; true if more is due
  // at once. Where no child feeds the stripe this makes the output; else it follows them.
  bool FoldOwn(std::uint32_t stripe, std::uint32_t limit);
  // The output's mark; what is new below it is finished, and has its checksums.
  void Publish(std::uint32_t stripe);

 private:
  struct Input {
    explicit Input(std::uint32_t stripe_count) : marks(stripe_count) {}
    bool feeds(std::uint32_t stripe) const { return (stripes.load() >> stripe & 1) != 0; }
    std::vector<std::atomic<std::uint32_t>> marks;
    std::atomic<StripeMask> stripes{~StripeMask{0}};
  };

  std::uint64_t Begin(std::uint64_t block) const { return layout().block_range(block).begin; }
  std::span<std::byte> Out(std::uint64_t block) const;
  std::span<const std::byte> Own(std::size_t i, std::uint64_t block) const;
  bool Fed(std::uint32_t stripe) const;
  void FoldInto(std::uint64_t block, std::span<const std::byte> bytes) const;
  bool Follow(std::size_t own, std::uint32_t stripe, std::uint32_t limit);
  bool Make(std::uint32_t stripe, std::uint32_t limit);

  const store::CopyPtr out_;
  const planner::Folder folder_;
  const bool root_;
  const std::vector<store::CopyPtr> own_;
  std::vector<std::unique_ptr<Input>> children_;
  std::vector<std::unique_ptr<Input>> own_marks_;
  std::vector<std::uint32_t> begun_;  // per stripe: blocks of the output that hold any input
};

// One stream's side of it: the blocks of a child from `from` on, which are not folded yet. Received
// ones lie in a scratch buffer until they are. `on_ended` is called on the data loop.
class FoldSink final : public ReceiveSink {
 public:
  FoldSink(std::shared_ptr<Accumulator> into, std::uint32_t child, StripeMarks from,
           std::function<void(StripeMask)> on_ended = nullptr);

  const Layout& layout() const override { return into_->layout(); }
  StripeMarks marks() const override { return marks_; }
  std::uint32_t mark(std::uint32_t stripe) const override { return marks_[stripe]; }
  std::span<std::byte> Room(std::uint64_t begin, std::uint64_t end) override;
  std::span<const std::byte> Received(ByteRange block) const override;
  void Take(std::uint32_t stripe, std::uint64_t block, std::uint64_t checksum) override;
  void Flush(std::uint32_t stripe) override { into_->Publish(stripe); }
  void Ended(StripeMask stripes) override {
    if (on_ended_) on_ended_(stripes);
  }

 private:
  const std::shared_ptr<Accumulator> into_;
  const std::uint32_t child_;
  const std::function<void(StripeMask)> on_ended_;
  StripeMarks marks_;
  std::vector<std::byte> scratch_;
  std::uint64_t scratch_begin_ = 0;  // the object's byte that lies first in it
  std::uint64_t taken_end_ = 0;      // bytes of the present piece before this are folded
};

}  // namespace hoplite::node

#include "node/reduce/accumulator.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/units.h"

namespace hoplite::node {
namespace {

// Large enough for large system calls, small enough to stay in the second-level cache.
constexpr std::uint64_t kScratchBytes = 256_KiB;

}  // namespace

Accumulator::Accumulator(store::CopyPtr out, const protocol::Fold& fold,
                         std::vector<store::CopyPtr> own, std::uint32_t children, bool root)
    : out_(std::move(out)), folder_(fold), root_(root), own_(std::move(own)) {
  const std::uint32_t stripes = layout().stripe_count;
  begun_.resize(stripes);
  for (std::uint32_t i = 0; i < children; ++i) {
    children_.push_back(std::make_unique<Input>(stripes));
  }
  for (std::size_t i = 0; i < own_.size(); ++i) {
    own_marks_.push_back(std::make_unique<Input>(stripes));
  }
}

std::uint32_t Accumulator::child_mark(std::uint32_t child, std::uint32_t stripe) const {
  return children_[child]->marks[stripe].load(std::memory_order_relaxed);
}

std::span<std::byte> Accumulator::Out(std::uint64_t block) const {
  const ByteRange range = layout().block_range(block);
  return out_->bytes().subspan(range.begin, range.size());
}

std::span<const std::byte> Accumulator::Own(std::size_t i, std::uint64_t block) const {
  const ByteRange range = layout().block_range(block);
  return own_[i]->bytes().subspan(range.begin, range.size());
}

bool Accumulator::Fed(std::uint32_t stripe) const {
  return std::ranges::any_of(children_, [&](const auto& child) { return child->feeds(stripe); });
}

void Accumulator::FoldInto(std::uint64_t block, std::span<const std::byte> bytes) const {
  folder_.Fold(Begin(block), Out(block), Out(block), bytes);
}

void Accumulator::FoldChild(std::uint32_t child, std::uint32_t stripe, std::uint64_t block,
                            std::span<const std::byte> bytes) {
  const std::uint32_t index = layout().index_in_stripe(block);
  if (index < begun_[stripe]) {
    FoldInto(block, bytes);
  } else {
    // The first of this block: together with an own source, if one is that far, in one pass.
    std::size_t with = own_.size();
    for (std::size_t i = 0; i < own_.size() && with == own_.size(); ++i) {
      const bool due = own_marks_[i]->marks[stripe] == index && own_[i]->mark(stripe) > index;
      if (due) with = i;
    }
    if (with < own_.size()) {
      folder_.Fold(Begin(block), Out(block), Own(with, block), bytes);
      own_marks_[with]->marks[stripe] = index + 1;
    } else {
      std::memcpy(Out(block).data(), bytes.data(), bytes.size());
    }
    begun_[stripe] = index + 1;
  }
  children_[child]->marks[stripe].store(index + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < own_.size(); ++i) Follow(i, stripe, layout().blocks_per_run());
}

bool Accumulator::FoldOwn(std::uint32_t stripe, std::uint32_t limit) {
  bool more = false;
  if (!Fed(stripe)) {
    more = Make(stripe, limit);
  } else {
    for (std::size_t i = 0; i < own_.size(); ++i) more |= Follow(i, stripe, limit);
  }
  Publish(stripe);
  return more;
}

// Into blocks that hold a child's bytes already.
bool Accumulator::Follow(std::size_t own, std::uint32_t stripe, std::uint32_t limit) {
  auto& mark = own_marks_[own]->marks[stripe];
  const std::uint32_t due = std::min(own_[own]->mark(stripe), begun_[stripe]);
  std::uint32_t next = mark.load(std::memory_order_relaxed);
  const std::uint32_t end = std::min(due, next + limit);
  for (; next < end; ++next) {
    const std::uint64_t block = layout().block_at(stripe, next);
    FoldInto(block, Own(own, block));
    mark.store(next + 1, std::memory_order_relaxed);
  }
  return next < due;
}

// The output of own sources alone, each block in one go.
bool Accumulator::Make(std::uint32_t stripe, std::uint32_t limit) {
  if (own_.empty()) return false;
  std::uint32_t due = layout().stripe_block_count(stripe);
  for (const store::CopyPtr& own : own_) due = std::min(due, own->mark(stripe));
  const std::uint32_t end = std::min(due, begun_[stripe] + limit);
  for (std::uint32_t next = begun_[stripe]; next < end; ++next) {
    const std::uint64_t block = layout().block_at(stripe, next);
    if (own_.size() == 1) {
      std::ranges::copy(Own(0, block), Out(block).begin());
    } else {
      folder_.Fold(Begin(block), Out(block), Own(0, block), Own(1, block));
    }
    for (std::size_t i = 2; i < own_.size(); ++i) FoldInto(block, Own(i, block));
    for (const auto& input : own_marks_) input->marks[stripe] = next + 1;
    begun_[stripe] = next + 1;
  }
  return begun_[stripe] < due;
}

void Accumulator::Publish(std::uint32_t stripe) {
  std::uint32_t mark = own_.empty() && !Fed(stripe) ? 0 : layout().stripe_block_count(stripe);
  for (const auto* inputs : {&children_, &own_marks_}) {
    for (const auto& input : *inputs) {
      if (!input->feeds(stripe)) continue;
      mark = std::min(mark, input->marks[stripe].load(std::memory_order_relaxed));
    }
  }
  std::uint32_t next = out_->mark(stripe);
  if (mark <= next) return;
  for (; next < mark; ++next) {
    const std::uint64_t block = layout().block_at(stripe, next);
    if (root_) folder_.Finish(Begin(block), Out(block));
    out_->SetChecksum(block, BlockChecksum(Out(block)));
  }
  out_->Advance(stripe, mark);
}

FoldSink::FoldSink(std::shared_ptr<Accumulator> into, std::uint32_t child, StripeMarks from,
                   std::function<void(StripeMask)> on_ended)
    : into_(std::move(into)),
      child_(child),
      on_ended_(std::move(on_ended)),
      marks_(std::move(from)),
      scratch_(std::max<std::uint64_t>(kScratchBytes, into_->layout().block_bytes)) {}

// A piece starts on a block, and a full scratch holds whole blocks: all of them are folded by then.
std::span<std::byte> FoldSink::Room(std::uint64_t begin, std::uint64_t end) {
  const bool goes_on =
      begin > scratch_begin_ && begin < scratch_begin_ + scratch_.size() && begin > taken_end_;
  if (!goes_on) scratch_begin_ = taken_end_ = begin;
  const std::uint64_t at = begin - scratch_begin_;
  return std::span(scratch_).subspan(at, std::min(end - begin, scratch_.size() - at));
}

std::span<const std::byte> FoldSink::Received(ByteRange block) const {
  return std::span(scratch_).subspan(block.begin - scratch_begin_, block.size());
}

void FoldSink::Take(std::uint32_t stripe, std::uint64_t block, std::uint64_t /*checksum*/) {
  const ByteRange range = layout().block_range(block);
  into_->FoldChild(child_, stripe, block, Received(range));
  marks_[stripe] = layout().index_in_stripe(block) + 1;
  taken_end_ = range.end;
}

}  // namespace hoplite::node

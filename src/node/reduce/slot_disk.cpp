// Slot: its own sources that lie on this node's disk, folded from there (R123).
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "net/await.h"
#include "node/reduce/slot.h"

namespace hoplite::node {

// Whoever waits for memory keeps nothing in it that could go to the disk: the room may be its own.
void Slot::UnpinSources() {
  if (context_.memory.spiller() == nullptr) return;
  for (store::CopyPtr& source : sources_) {
    if (!source || source->state() != store::CopyState::kFinal) continue;
    source->RemoveListener(this);
    source.reset();
  }
}

// Whoever has its memory pins them again. False: one went meanwhile.
bool Slot::FindSources(planner::SlotState::Effects& effects) {
  LookAtSources(effects);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]) continue;
    const ObjectId& source = state_->order().order.inputs[i].object;
    OnSourceGone(fmt::format("source {} was deleted or replaced", source.ToHex()), effects);
    return false;
  }
  return true;
}

void Slot::OnSourceGone(const std::string& why, planner::SlotState::Effects& effects) {
  state_->OnRefused(Error(ErrorCode::kRecalled, why), effects);
  waiter_.reset();
}

// As children: each comes in its own time, and none keeps a piece of the disk's while it waits for
// another's.
void Slot::FoldFromDisk() {
  std::uint32_t child = state_->order().order.children;
  for (const store::CopyPtr& source : sources_) {
    if (!source->on_disk()) continue;
    for (std::size_t loop = 0; loop < data_plane_.loop_count(); ++loop) {
      if (StripesOn(loop) == 0) continue;
      ++folders_;
      from_disk_.push_back(std::make_shared<net::Signal>(data_plane_.LoopAt(loop).loop));
      context_.runtime.Spawn(data_plane_.LoopAt(loop).loop, "fold of a source on the disk",
                             FoldFromDiskOn(loop, child, source, from_disk_.back()));
    }
    ++child;
  }
}

net::Task<void> Slot::FoldFromDiskOn(std::size_t loop, std::uint32_t child, store::CopyPtr source,
                                     std::shared_ptr<net::Signal> wake) {
  const auto self = shared_from_this();
  const auto accumulator = accumulator_;
  const StripeMask stripes = StripesOn(loop);
  const Layout& layout = accumulator->layout();
  const std::shared_ptr<DiskPieces>& pieces = context_.memory.spiller()->pieces();
  DiskPieces::Use piece;
  for (std::uint64_t block = 0; block < layout.block_count() && !stopping_; ++block) {
    const std::uint32_t stripe = layout.stripe_of(block);
    if ((stripes >> stripe & 1) == 0) continue;
    const ByteRange range = layout.block_range(block);
    if (!piece || range.begin >= piece->end()) {
      piece.reset();
      piece = pieces->Want(source, range.begin, [&wake] { wake->Notify(); });
      while (!piece->ready() && !piece->failed() && !stopping_) co_await wake->Wait();
      if (!piece->ready()) break;
      pieces->ReadAhead(source, piece->end());
    }
    accumulator->FoldChild(child, stripe, block,
                           piece->bytes().subspan(range.begin - piece->begin(), range.size()));
    accumulator->Publish(stripe);
    // In turns, so that streams of the same loop go on.
    if (layout.index_in_stripe(block) % layout.blocks_per_run() != 0) continue;
    changed_.Notify();
    co_await asio::post(data_plane_.LoopAt(loop).loop, net::kAwait);
  }
  const bool lost = piece && piece->failed();
  asio::post(context_.runtime.main(), [self, lost, source] {
    --self->folders_;
    if (lost) self->OnSourceUnreadable(source->object());
    self->changed_.Notify();
  });
}

void Slot::OnSourceUnreadable(const ObjectId& source) {
  planner::SlotState::Effects effects;
  OnSourceGone(fmt::format("source {} can't be read from the disk of {}", source.ToHex(),
                           context_.settings.name),
               effects);
  Do(effects);
}

}  // namespace hoplite::node

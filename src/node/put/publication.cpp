#include "node/put/publication.h"

#include <string>

#include <asio/post.hpp>

#include "base/checksum.h"
#include "base/log.h"
#include "base/try.h"
#include "node/pull/flight.h"

namespace hoplite::node {
namespace {

std::uint64_t WholeBlocks(const Layout& layout, std::uint64_t prefix_bytes) {
  return prefix_bytes == layout.size_bytes ? layout.block_count()
                                           : prefix_bytes / layout.block_bytes;
}

// Checksums of the blocks of [first block, written) and the marks that release them.
std::uint64_t ChecksumBlocks(store::Copy& copy, std::uint64_t first, std::uint64_t written_bytes) {
  const Layout& layout = copy.layout();
  const std::uint64_t whole = WholeBlocks(layout, written_bytes);
  for (std::uint64_t block = first; block < whole; ++block) {
    const ByteRange range = layout.block_range(block);
    copy.SetChecksum(block, BlockChecksum(copy.bytes().subspan(range.begin, range.size())));
    copy.Advance(layout.stripe_of(block), layout.index_in_stripe(block) + 1);
  }
  return whole;
}

}  // namespace

Publication::Publication(Context& context, EntryPtr entry, store::CopyPtr copy,
                         std::uint64_t attempt)
    : context_(context), entry_(std::move(entry)), copy_(std::move(copy)), attempt_(attempt) {}

Publication::~Publication() = default;

void Publication::AnnounceEarly() {
  if (!small()) Announce();
}

void Publication::Announce() {
  announced_ = true;
  told_ = context_.directory.connected(
      directory::ShardOf(copy_->object(), context_.directory.shard_count()));
  context_.directory.Send(MakeCreate());
}

planner::Create Publication::MakeCreate() const {
  planner::Create create{copy_->object(), copy_->layout(), copy_->metadata(), nullptr, attempt_};
  if (small()) {
    const auto bytes = copy_->bytes();
    create.inline_bytes = std::make_shared<const std::string>(
        reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return create;
}

std::optional<planner::Create> Publication::OpenCreate() {
  if (!announced_ || accepted() || failure_) return std::nullopt;
  told_ = true;
  return MakeCreate();
}

Result<void> Publication::Advance(std::uint64_t prefix_bytes,
                                  std::span<const std::uint64_t> checksums) {
  if (failure_) return std::unexpected(*failure_);
  TRY(CheckAdvance(prefix_bytes, checksums.size()));
  const bool taken = TakeChecksums(prefix_bytes, checksums);
  written_.store(prefix_bytes, std::memory_order_release);
  if (!taken && !small()) PumpChecksums();
  return {};
}

Result<void> Publication::CheckAdvance(std::uint64_t prefix_bytes,
                                       std::size_t checksum_count) const {
  const auto bad = [](std::string why) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(why)));
  };
  const Layout& layout = copy_->layout();
  const std::uint64_t before = written_.load(std::memory_order_relaxed);
  if (seal_asked_) return bad("the draft is sealed already");
  if (prefix_bytes > layout.size_bytes || prefix_bytes < before) {
    return bad("advance to " + std::to_string(prefix_bytes) + " of " +
               std::to_string(layout.size_bytes) + " bytes after " + std::to_string(before) +
               " were announced");
  }
  const std::uint64_t whole = WholeBlocks(layout, prefix_bytes) - WholeBlocks(layout, before);
  if (checksum_count != 0 && checksum_count != whole) {
    return bad("advance by " + std::to_string(whole) + " blocks with " +
               std::to_string(checksum_count) + " checksums");
  }
  return {};
}

// The client's own checksums, where all blocks before have theirs: else the pool goes on.
bool Publication::TakeChecksums(std::uint64_t prefix_bytes,
                                std::span<const std::uint64_t> checksums) {
  if (checksums.empty() || pumping_ || small()) return false;
  const Layout& layout = copy_->layout();
  if (summed_blocks_ + checksums.size() != WholeBlocks(layout, prefix_bytes)) return false;
  for (const std::uint64_t checksum : checksums) copy_->SetChecksum(summed_blocks_++, checksum);
  const StripeMarks marks = layout.marks_of_prefix(prefix_bytes);
  for (std::uint32_t s = 0; s < marks.size(); ++s) copy_->Advance(s, marks[s]);
  return true;
}

// One pump at a time per Put, so blocks are hashed once and marks grow in order.
void Publication::PumpChecksums() {
  if (pumping_) return;
  pumping_ = true;
  context_.runtime.RunOnPool([self = shared_from_this()] {
    self->summed_blocks_ = ChecksumBlocks(*self->copy_, self->summed_blocks_,
                                          self->written_.load(std::memory_order_acquire));
    asio::post(self->context_.runtime.main(), [self] { self->OnPumped(); });
  });
}

void Publication::OnPumped() {
  pumping_ = false;
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  if (summed_blocks_ < WholeBlocks(copy_->layout(), written)) {
    PumpChecksums();
  } else {
    MaybeFinish();
  }
}

net::Task<Result<void>> Publication::Seal(CallPtr call) {
  const auto self = shared_from_this();
  if (failure_) co_return std::unexpected(*failure_);
  if (seal_asked_) {
    co_return std::unexpected(Error(ErrorCode::kInvalidArgument, "the draft is sealed already"));
  }
  const std::uint64_t size = copy_->layout().size_bytes;
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  if (written != size) {
    co_return std::unexpected(Error(
        ErrorCode::kInvalidArgument,
        "sealed after " + std::to_string(written) + " of " + std::to_string(size) + " bytes"));
  }
  seal_asked_ = true;
  if (small()) {
    summed_blocks_ = ChecksumBlocks(*copy_, 0, size);
    Announce();
  } else {
    MaybeFinish();
  }
  WaitingCall waiting(entry_, call);
  while (!finished_ && !failure_) {
    if (co_await waiting.Wait()) continue;
    if (accepted()) co_return Result<void>{};  // only checksums are missing: nothing can undo it
    Error error = call->cancelled ? Error(ErrorCode::kCancelled, "the put was cancelled")
                                  : Error(ErrorCode::kTimeout,
                                          "the directory did not accept object " +
                                              copy_->object().ToHex() + " within the deadline");
    Abort();
    co_return std::unexpected(std::move(error));
  }
  if (failure_) co_return std::unexpected(*failure_);
  co_return Result<void>{};
}

void Publication::Accept(Version version) {
  if (accepted()) return;
  copy_->set_version(version);
  if (entry_->flight()) entry_->flight()->Supersede();
  if (const store::CopyPtr older = context_.store.Find(copy_->object())) {
    older->Void(store::VoidReason::kRecalled);
    context_.store.Remove(copy_->object());
  }
  const auto listed = context_.store.List(copy_, store::CopyKind::kPrimary);
  if (!listed) log::ErrorLine("{}: {}", copy_->object().ToHex(), listed.error().message);
  MaybeFinish();
  entry_->Changed();
}

void Publication::Refuse(Error error) { Revoke(std::move(error), store::VoidReason::kAborted); }

void Publication::Revoke(Error error, store::VoidReason reason) {
  if (finished_ || failure_) return;
  failure_ = std::move(error);
  const bool listed = context_.store.Find(copy_->object()) == copy_;
  if (listed) context_.store.Remove(copy_->object());
  copy_->Void(reason);
  Leave();
}

void Publication::Abort() {
  if (finished_ || failure_) return;
  if (accepted() && seal_asked_) return;  // accepted and fully written: it only waits for checksums
  const ObjectId object = copy_->object();
  if (accepted()) {
    context_.directory.Send(
        planner::CopyGone{object, copy_->version(), planner::GoneReason::kAborted});
  } else if (told_) {
    entry_->Withdraw(attempt_);
    context_.directory.Send(planner::Withdraw{object, attempt_});
  }
  Revoke(Error(ErrorCode::kCancelled, "the put was aborted"), store::VoidReason::kAborted);
}

void Publication::MaybeFinish() {
  if (finished_ || failure_ || !seal_asked_ || !accepted()) return;
  if (!copy_->layout().complete(copy_->marks())) return;
  finished_ = true;
  copy_->Seal();
  context_.store.Touch(copy_->object(), Now());
  context_.directory.Send(planner::CopyComplete{copy_->object(), copy_->version()});
  Leave();
}

void Publication::Leave() {
  entry_->Ended(*this);
  entry_->Changed();
}

}  // namespace hoplite::node

#include "node/put/publication.h"

#include <string>

#include <asio/post.hpp>

#include "base/checksum.h"
#include "base/log.h"
#include "base/try.h"
#include "base/units.h"
#include "node/owners/owners.h"
#include "node/pull/made_copy.h"

namespace hoplite::node {
namespace {

using planner::WholeBlocks;

// Their checksums take less time than the way to the pool and back.
constexpr std::uint64_t kSummedAtOnce = 256_KiB;

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

Publication::Publication(Context& context, Operations& calls, EntryPtr entry, store::CopyPtr copy,
                         std::uint64_t attempt, Owning owning)
    : context_(context),
      calls_(calls),
      entry_(std::move(entry)),
      copy_(std::move(copy)),
      state_(copy_->object(), copy_->layout(),
             context.LivesInDirectory(copy_->object(), copy_->layout().size_bytes), attempt),
      owning_(std::move(owning)) {}

Publication::~Publication() = default;

bool Publication::in_session() const {
  return context_.directory.connected(context_.ShardOf(copy_->object()));
}

void Publication::Begin() {
  planner::PublicationState::Effects effects;
  state_.Begin(in_session(), effects);
  Carry(effects);
}

protocol::Create Publication::MakeCreate() const {
  protocol::Create create{.object = copy_->object(),
                          .layout = copy_->layout(),
                          .metadata = copy_->metadata(),
                          .inline_bytes = nullptr,
                          .attempt = state_.attempt(),
                          .owned = owning_.owner != nullptr,
                          .only_if_owned = owning_.only_if_owned,
                          .number = owner_number_,
                          .grace = owning_.grace};
  if (state_.small()) {
    const auto bytes = copy_->bytes();
    create.inline_bytes = std::make_shared<const std::string>(
        reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return create;
}

std::string Publication::Waiting() const {
  const std::uint64_t size = copy_->layout().size_bytes;
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  if (written < size) {
    return fmt::format("it is being put here: {} of {} bytes are written", written, size);
  }
  return accepted() ? "it is put here, and not sealed"
                    : "it is put here, and its directory shard has not accepted it yet";
}

std::string WhyPutWaits(const Context& context, const ObjectEntry& entry) {
  if (const auto publication = entry.publication()) return publication->Waiting();
  if (!entry.put_waits_for()) return "";
  if (entry.withdrawal().open()) {
    return "a put of it waits until the directory confirms that an earlier one was taken back";
  }
  return "a put of it waits, since " + context.memory.WhyNone(*entry.put_waits_for());
}

void Publication::Announce() {
  if (owning_.owner)
    owner_number_ = context_.owners.BeginPut(copy_->object(), *owning_.owner, owning_.grace);
  context_.directory.Send(MakeCreate());
}

std::optional<protocol::Create> Publication::OpenCreate() {
  if (!state_.Repeats()) return std::nullopt;
  return MakeCreate();
}

Result<void> Publication::Advance(std::uint64_t prefix_bytes,
                                  std::span<const std::uint64_t> checksums) {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  TRY(state_.Advance(written, prefix_bytes, checksums.size()));
  const bool taken = TakeChecksums(prefix_bytes, checksums);
  written_.store(prefix_bytes, std::memory_order_release);
  if (taken || state_.small()) return {};
  if (pumping_ || prefix_bytes - written > kSummedAtOnce) {
    PumpChecksums();
  } else {
    summed_blocks_ = ChecksumBlocks(*copy_, summed_blocks_, prefix_bytes);
  }
  return {};
}

// The client's own checksums, where all blocks before have theirs: else the pool goes on.
bool Publication::TakeChecksums(std::uint64_t prefix_bytes,
                                std::span<const std::uint64_t> checksums) {
  if (checksums.empty() || pumping_ || state_.small()) return false;
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
    Step();
  }
}

net::Task<Result<void>> Publication::Seal(CallPtr call) {
  const auto self = shared_from_this();
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  if (owning_.owner && owning_.owner->gone && !state_.accepted()) {
    co_return std::unexpected(
        Error(ErrorCode::kCancelled,
              "the client that was to own object " + copy_->object().ToHex() + " is closed"));
  }
  planner::PublicationState::Effects effects;
  CO_TRY(state_.Seal(written, in_session(), effects));
  if (state_.small()) summed_blocks_ = ChecksumBlocks(*copy_, 0, written);
  Carry(effects);
  Step();
  WaitingCall waiting(entry_, call);
  const Time begun = Now();
  while (!state_.result()) {
    if (co_await waiting.Wait()) continue;
    Error why = co_await calls_.GaveUp(copy_->object(), call, begun);
    if (state_.result()) break;  // meanwhile
    planner::PublicationState::Effects last;
    Result<void> result = state_.StopWaiting(call->cancelled, last);
    if (!result && result.error().code == ErrorCode::kTimeout) result.error() = std::move(why);
    Carry(last);
    co_return result;
  }
  co_return *state_.result();
}

void Publication::Accept(Version version) {
  planner::PublicationState::Effects effects;
  state_.Accept(version, effects);
  if (!effects.show) return;
  Carry(effects);
  Step();
  entry_->Changed();
}

void Publication::Refuse(Error error, store::VoidReason reason) {
  planner::PublicationState::Effects effects;
  state_.Refuse(std::move(error), effects);
  Carry(effects, reason);
}

void Publication::Recall(Version below, Error error, store::VoidReason reason) {
  planner::PublicationState::Effects effects;
  state_.Recall(below, std::move(error), effects);
  Carry(effects, reason);
}

void Publication::Abort() {
  planner::PublicationState::Effects effects;
  state_.Abort(effects);
  Carry(effects);
}

void Publication::Step() {
  planner::PublicationState::Effects effects;
  state_.Step(copy_->marks(), effects);
  Carry(effects);
}

void Publication::Carry(const planner::PublicationState::Effects& effects,
                        store::VoidReason reason) {
  if (effects.announce) Announce();
  if (effects.show) Show();
  if (effects.seal) {
    copy_->Seal();
    context_.store.Touch(copy_->object(), Now());
  }
  if (effects.withdraw) entry_->withdrawal().Begin(state_.attempt());
  for (const protocol::NodeEvent& event : effects.say) context_.directory.Send(event);
  if (effects.drop) Drop(reason);
  // The shard will never hear of it, or has answered otherwise: with the object's deletion.
  if (effects.drop && !effects.withdraw) {
    context_.owners.OnPutAnswered(copy_->object(), false);
  }
  if (!effects.seal && !effects.drop) return;
  entry_->Ended(*this);
  entry_->Changed();
}

void Publication::Show() {
  copy_->set_version(state_.version());
  copy_->set_made_here(copy_->layout().all_stripes());
  const auto listed = ListMade(context_, *entry_, copy_);
  if (!listed) log::ErrorLine("{}: {}", copy_->object().ToHex(), listed.error().message);
}

void Publication::Drop(store::VoidReason reason) {
  const bool listed = context_.store.Find(copy_->object()) == copy_;
  if (listed) context_.store.Remove(copy_->object());
  copy_->Void(reason);
}

}  // namespace hoplite::node

#include "store/copy.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hoplite::store {
namespace {

std::uint64_t NextNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Copy::Copy(ObjectId object, Layout layout, std::string metadata, std::span<std::byte> bytes,
           std::uint64_t segment_offset, std::function<void()> release)
    : object_(object),
      layout_(layout),
      metadata_(std::move(metadata)),
      bytes_(bytes),
      segment_offset_(segment_offset),
      release_(std::move(release)),
      number_(NextNumber()),
      marks_(layout.stripe_count),
      checksums_(layout.block_count()) {
  const bool window = !bytes.empty() && bytes.size() % layout.block_bytes == 0;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if (layout.stripe_block_count(s) == 0) ++whole_stripes_;
  }
  HOPLITE_CHECK(bytes.size() == layout.size_bytes || (windowed() && window),
                "a copy has memory for its whole object, or for some blocks of it");
}

Copy::Copy(const Copy& of, Place place)
    : object_(of.object_),
      layout_(of.layout_),
      metadata_(of.metadata_),
      segment_offset_(0),
      place_(std::move(place)),
      number_(of.number_),
      made_here_(of.made_here_),
      version_(of.version_),
      marks_(of.layout_.stripe_count),
      checksums_(of.checksums_) {
  HOPLITE_CHECK(of.state() == CopyState::kFinal, "what lies on a disk is final");
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    marks_[s] = layout_.stripe_block_count(s);
  }
  whole_stripes_ = layout_.stripe_count;
  final_stripes_ = layout_.all_stripes();
  state_ = CopyState::kFinal;
}

void Copy::StandFor(const Copy& of) {
  number_ = of.number_;
  made_here_ = of.made_here_;
  version_ = of.version_;
}

void Copy::TakeOver(Copy& from) {
  ever_owned_ = from.ever_owned_;
  counted_ = std::move(from.counted_);
}

Copy::~Copy() {
  if (release_) release_();
}

std::uint64_t Copy::room_end() const {
  if (!windowed()) return layout_.size_bytes;
  return std::min<std::uint64_t>(taken() + bytes_.size(), layout_.size_bytes);
}

void Copy::Take(std::uint64_t prefix_bytes) {
  if (prefix_bytes <= taken()) return;
  taken_.store(prefix_bytes, std::memory_order_release);
  WakeListeners();
}

std::uint32_t Copy::mark(std::uint32_t stripe) const {
  return marks_[stripe].load(std::memory_order_acquire);
}

StripeMarks Copy::marks() const {
  StripeMarks marks(layout_.stripe_count);
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) marks[s] = mark(s);
  return marks;
}

std::uint64_t Copy::checksum(std::uint64_t block) const { return checksums_[block]; }

void Copy::SetChecksum(std::uint64_t block, std::uint64_t checksum) {
  checksums_[block] = checksum;
}

void Copy::Advance(std::uint32_t stripe, std::uint32_t mark) {
  const std::uint32_t end = layout_.stripe_block_count(stripe);
  HOPLITE_CHECK(mark <= end, "a mark stays within its stripe");
  if (mark <= marks_[stripe].load(std::memory_order_relaxed)) return;
  marks_[stripe].store(mark, std::memory_order_release);
  if (mark == end) ++whole_stripes_;
  WakeListeners();
}

CopyState Copy::state() const { return state_.load(); }

VoidReason Copy::void_reason() const { return void_reason_.load(); }

bool Copy::Seal() { return Seal(layout_.all_stripes()); }

bool Copy::Seal(StripeMask stripes) {
  if (state() != CopyState::kOpen) return false;
  for (std::uint32_t s = 0; s < layout_.stripe_count; ++s) {
    if ((stripes >> s & 1) != 0 && mark(s) != layout_.stripe_block_count(s)) return false;
  }
  const StripeMask before = final_stripes_.fetch_or(stripes);
  if ((stripes & ~before) == 0) return false;
  if ((before | stripes) == layout_.all_stripes()) {
    CopyState expected = CopyState::kOpen;
    if (!state_.compare_exchange_strong(expected, CopyState::kFinal)) return false;
  }
  WakeListeners();
  return true;
}

StripeMask Copy::final_stripes() const { return final_stripes_.load(); }

bool Copy::Void(VoidReason reason) {
  HOPLITE_CHECK(reason != VoidReason::kNone, "a copy is void for a reason");
  // The first call to set the reason wins. The state follows it, so whoever sees kVoid also sees
  // why.
  VoidReason expected = VoidReason::kNone;
  if (!void_reason_.compare_exchange_strong(expected, reason)) return false;
  state_.store(CopyState::kVoid);
  WakeListeners();
  if (spilled_) spilled_->Void(reason);
  return true;
}

void Copy::AddListener(CopyListener* listener) {
  const MutexLock lock(listeners_mutex_);
  listeners_.push_back(listener);
}

void Copy::RemoveListener(CopyListener* listener) {
  const MutexLock lock(listeners_mutex_);
  std::erase(listeners_, listener);
}

void Copy::WakeListeners() {
  const MutexLock lock(listeners_mutex_);
  for (CopyListener* listener : listeners_) listener->OnCopyChanged();
}

}  // namespace hoplite::store

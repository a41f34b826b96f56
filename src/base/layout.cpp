#include "base/layout.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.h"
#include "base/divide.h"
#include "base/units.h"

namespace hoplite {
namespace {

// A hop of a tree costs a message and a block; below 1 MiB that is much of the whole.
constexpr std::uint32_t kTinyBlock = 4_KiB;
constexpr std::uint64_t kSmallBlockFrom = 1_MiB;
constexpr std::uint32_t kSmallBlock = 16_KiB;
constexpr std::uint32_t kLargeBlock = 64_KiB;
constexpr std::uint64_t kLargeBlockFrom = 64_MiB;
constexpr std::uint64_t kSomeStripesFrom = 256_KiB;
constexpr std::uint32_t kSomeStripes = 16;
constexpr std::uint64_t kManyStripesFrom = 4_MiB;
constexpr std::uint32_t kLeastRun = 16_KiB;  // what travels in one piece, where it is there
// What a frame costs is little beside what it carries from here on.
constexpr std::uint32_t kGoodRun = 64_KiB;
constexpr std::uint32_t kMaxRun = 1_MiB;
constexpr std::uint64_t kMaxObject = std::uint64_t{1} << 46;

std::uint32_t StripesFor(std::uint64_t size_bytes) {
  if (size_bytes < kSomeStripesFrom) return 1;
  return size_bytes < kManyStripesFrom ? kSomeStripes : kMaxStripes;
}

// Stripes stay equally long: of several nodes that make whole ones none ends after the others. Many
// stripes keep some runs each, so that they end together: an allreduce commits each that ends alone.
std::uint32_t LengthenedRun(const Layout& layout) {
  const std::uint64_t least_runs = layout.stripe_count > kSomeStripes ? 4 : 1;
  const auto allows = [&](std::uint64_t run) {
    const std::uint64_t round = run * layout.stripe_count;
    return layout.size_bytes % round == 0 && layout.size_bytes >= least_runs * round;
  };
  std::uint32_t run = layout.run_bytes;
  while (run < kGoodRun && allows(2 * std::uint64_t{run})) run *= 2;
  return run;
}

// How many blocks each stripe has. Divides once for all of them: a shard looks at the marks of every
// copy that is spoken of.
class StripeSizes {
 public:
  explicit StripeSizes(const Layout& layout) {
    if (layout.stripe_count == 0) return;
    per_run_ = layout.blocks_per_run();
    const std::uint64_t blocks = layout.block_count();
    const std::uint64_t round = per_run_ * layout.stripe_count;
    in_rounds_ = blocks / round * per_run_;
    rest_ = blocks % round;
  }
  std::uint32_t operator[](std::uint32_t stripe) const {
    const std::uint64_t before = per_run_ * stripe;
    const std::uint64_t extra = rest_ > before ? std::min(rest_ - before, per_run_) : 0;
    return static_cast<std::uint32_t>(in_rounds_ + extra);
  }

 private:
  std::uint64_t per_run_ = 0;
  std::uint64_t in_rounds_ = 0;  // of each stripe, in the rounds of runs that are whole
  std::uint64_t rest_ = 0;       // blocks of the last round
};

Error Bad(const char* what, std::uint64_t value) {
  return Error(ErrorCode::kInvalidArgument,
               std::string("object layout: ") + what + " " + std::to_string(value));
}

}  // namespace

Layout Layout::For(std::uint64_t size_bytes, std::uint32_t stripe_count) {
  Layout layout;
  layout.size_bytes = size_bytes;
  layout.block_bytes = size_bytes < kSmallBlockFrom   ? kTinyBlock
                       : size_bytes < kLargeBlockFrom ? kSmallBlock
                                                      : kLargeBlock;
  const std::uint64_t wanted = std::bit_floor(std::max<std::uint64_t>(size_bytes / 1024, 1));
  layout.run_bytes =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, kLeastRun, kMaxRun));
  layout.run_bytes = std::max(layout.run_bytes, layout.block_bytes);
  layout.stripe_count = stripe_count != 0 ? stripe_count : StripesFor(size_bytes);
  layout.run_bytes = LengthenedRun(layout);
  return layout;
}

Result<void> Layout::Validate() const {
  if (size_bytes > kMaxObject) return std::unexpected(Bad("size is beyond 64 TiB:", size_bytes));
  if (block_bytes < 4_KiB || block_bytes > kMaxRun || !std::has_single_bit(block_bytes)) {
    return std::unexpected(Bad("block size is no power of two in [4 KiB, 1 MiB]:", block_bytes));
  }
  if (run_bytes < block_bytes || run_bytes > kMaxRun || !std::has_single_bit(run_bytes)) {
    return std::unexpected(Bad("run size is no power of two in [block, 1 MiB]:", run_bytes));
  }
  if (stripe_count < 1 || stripe_count > kMaxStripes) {
    return std::unexpected(Bad("stripe count is not in [1, 64]:", stripe_count));
  }
  if (block_count() > std::uint64_t{1} << 31) {
    return std::unexpected(Bad("too many blocks:", block_count()));
  }
  return {};
}

std::uint64_t Layout::block_count() const { return DivideUp(size_bytes, block_bytes); }

StripeMask Layout::all_stripes() const {
  return stripe_count == 64 ? ~StripeMask{0} : (StripeMask{1} << stripe_count) - 1;
}

StripeMarks Layout::full_marks() const {
  StripeMarks marks(stripe_count);
  const StripeSizes blocks(*this);
  for (std::uint32_t s = 0; s < stripe_count; ++s) marks[s] = blocks[s];
  return marks;
}

std::uint32_t Layout::stripe_of(std::uint64_t block) const {
  return static_cast<std::uint32_t>(block / blocks_per_run() % stripe_count);
}

std::uint32_t Layout::stripe_block_count(std::uint32_t stripe) const {
  return StripeSizes(*this)[stripe];
}

std::uint64_t Layout::block_at(std::uint32_t stripe, std::uint32_t index) const {
  const std::uint64_t per_run = blocks_per_run();
  const std::uint64_t run = index / per_run * stripe_count + stripe;
  return run * per_run + index % per_run;
}

std::uint32_t Layout::index_in_stripe(std::uint64_t block) const {
  const std::uint64_t per_run = blocks_per_run();
  const std::uint64_t run = block / per_run;
  return static_cast<std::uint32_t>(run / stripe_count * per_run + block % per_run);
}

ByteRange Layout::block_range(std::uint64_t block) const {
  const std::uint64_t begin = block * block_bytes;
  return {begin, std::min(begin + block_bytes, size_bytes)};
}

ByteRange Layout::piece(std::uint32_t stripe, std::uint32_t index, std::uint32_t limit) const {
  const std::uint32_t rest_of_run = blocks_per_run() - index % blocks_per_run();
  const std::uint32_t rest_of_stripe = stripe_block_count(stripe) - index;
  const std::uint32_t blocks = std::min({limit, rest_of_run, rest_of_stripe});
  HOPLITE_CHECK(blocks > 0, "a piece has at least one block");
  const std::uint64_t first = block_at(stripe, index);
  return {block_range(first).begin, block_range(first + blocks - 1).end};
}

StripeMarks Layout::marks_of_prefix(std::uint64_t prefix_bytes) const {
  const std::uint64_t whole =
      prefix_bytes >= size_bytes ? block_count() : prefix_bytes / block_bytes;
  Layout prefix = *this;
  prefix.size_bytes = std::min(whole * block_bytes, size_bytes);
  return prefix.full_marks();
}

std::uint64_t Layout::contiguous_prefix(const StripeMarks& marks) const {
  std::uint64_t first_missing = block_count();
  for (std::uint32_t s = 0; s < stripe_count; ++s) {
    if (marks[s] < stripe_block_count(s)) {
      first_missing = std::min(first_missing, block_at(s, marks[s]));
    }
  }
  return std::min(first_missing * block_bytes, size_bytes);
}

std::uint64_t Layout::valid_bytes(const StripeMarks& marks) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < stripe_count; ++s) {
    bytes += std::uint64_t{marks[s]} * block_bytes;
    // Only the object's last block may be short, and it is the last of its stripe.
    const bool has_last = block_count() > 0 && stripe_of(block_count() - 1) == s;
    if (has_last && marks[s] == stripe_block_count(s)) {
      bytes -= block_count() * block_bytes - size_bytes;
    }
  }
  return bytes;
}

bool Layout::complete(const StripeMarks& marks) const { return marks == full_marks(); }

StripeMask Layout::missing(const StripeMarks& marks) const {
  if (!valid(marks)) return all_stripes();
  const StripeSizes blocks(*this);
  StripeMask missing = 0;
  for (std::uint32_t s = 0; s < stripe_count; ++s) {
    if (marks[s] < blocks[s]) missing |= StripeMask{1} << s;
  }
  return missing;
}

bool Layout::valid(const StripeMarks& marks) const {
  if (marks.size() != stripe_count) return false;
  const StripeSizes blocks(*this);
  for (std::uint32_t s = 0; s < stripe_count; ++s) {
    if (marks[s] > blocks[s]) return false;
  }
  return true;
}

}  // namespace hoplite

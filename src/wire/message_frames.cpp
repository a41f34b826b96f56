#include "wire/message_frames.h"

#include <algorithm>

namespace hoplite::wire {
namespace {

// Room of one long message is not kept for the next.
constexpr std::size_t kStays = 64_KiB;

}  // namespace

Result<std::optional<std::string_view>> MessageFrames::Next() {
  Release();
  // Where nothing is kept, messages are read where they arrived.
  if (!kept_.empty()) Fetch(kLengthBytes);
  const std::string_view bytes = begun();
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = LengthOf(bytes);
  if (length > most_) return std::unexpected(TooLong(length, most_));
  const std::size_t whole = kLengthBytes + length;
  if (!kept_.empty()) Fetch(whole);
  if (begun().size() < whole) return std::nullopt;
  const std::string_view message = begun().substr(kLengthBytes, length);
  if (kept_.empty()) {
    fresh_.remove_prefix(whole);
  } else {
    begin_ += whole;
  }
  return message;
}

void MessageFrames::Keep() {
  Release();
  kept_.append(fresh_);
  fresh_ = {};
}

std::string_view MessageFrames::begun() const {
  return kept_.empty() ? fresh_ : std::string_view(kept_).substr(begin_);
}

// Moves so many bytes of the next message together, as far as they have arrived.
void MessageFrames::Fetch(std::size_t bytes) {
  const std::size_t have = kept_.size() - begin_;
  if (have >= bytes) return;
  const std::size_t more = std::min(bytes - have, fresh_.size());
  kept_.append(fresh_.substr(0, more));
  fresh_.remove_prefix(more);
}

// Lets go of what was given.
void MessageFrames::Release() {
  if (begin_ < kept_.size() && begin_ <= kept_.size() / 2) return;
  kept_.erase(0, begin_);
  begin_ = 0;
  if (kept_.empty() && kept_.capacity() > kStays) kept_ = {};
}

}  // namespace hoplite::wire

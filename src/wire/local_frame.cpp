#include "wire/local_frame.h"

#include <cstring>

namespace hoplite::wire {
namespace {

constexpr std::size_t kReceiveBytes = 64_KiB;

}  // namespace

std::span<char> LocalFrames::Space() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kReceiveBytes) buffer_.resize(end_ + kReceiveBytes);
  return {buffer_.data() + end_, buffer_.size() - end_};
}

Result<std::optional<std::string_view>> LocalFrames::Next() {
  if (end_ - begin_ < kLengthBytes) return std::nullopt;
  const std::size_t length = LengthOf({buffer_.data() + begin_, kLengthBytes});
  if (length > max_message_bytes_) return std::unexpected(TooLong(length, max_message_bytes_));
  if (end_ - begin_ - kLengthBytes < length) return std::nullopt;
  const std::string_view message(buffer_.data() + begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return message;
}

}  // namespace hoplite::wire

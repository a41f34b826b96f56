#include "wire/local_frame.h"

#include <cstring>

#include <fmt/format.h>

namespace hoplite::wire {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kReceiveBytes = 64_KiB;

}  // namespace

void AppendLocalFrame(const google::protobuf::MessageLite& message, std::string& out) {
  const std::size_t length = message.ByteSizeLong();
  const std::size_t at = out.size();
  out.resize(at + kLengthBytes + length);
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out[at + i] = static_cast<char>(length >> (8 * i) & 0xff);
  }
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<std::uint8_t*>(out.data() + at + kLengthBytes));
}

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
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(buffer_[begin_ + i])} << (8 * i);
  }
  if (length > max_message_bytes_) {
    return std::unexpected(
        Error(ErrorCode::kProtocol,
              fmt::format("a message of {} bytes is announced; at most {} are allowed", length,
                          max_message_bytes_)));
  }
  if (end_ - begin_ - kLengthBytes < length) return std::nullopt;
  const std::string_view message(buffer_.data() + begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return message;
}

}  // namespace hoplite::wire

#include "wire/message_frame.h"

#include <fmt/format.h>

namespace hoplite::wire {

void AppendMessageFrame(const google::protobuf::MessageLite& message, std::string& out) {
  const std::size_t length = message.ByteSizeLong();
  const std::size_t at = out.size();
  out.resize(at + kLengthBytes + length);
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out[at + i] = static_cast<char>(length >> (8 * i) & 0xff);
  }
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<std::uint8_t*>(out.data() + at + kLengthBytes));
}

std::size_t LengthOf(std::string_view frame) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(frame[i])} << (8 * i);
  }
  return length;
}

Error TooLong(std::size_t length, std::size_t most) {
  return {ErrorCode::kProtocol,
          fmt::format("a message of {} bytes is announced; at most {} are allowed", length, most)};
}

}  // namespace hoplite::wire

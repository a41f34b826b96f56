// Messages behind their length: 4 bytes, little endian, then the message. The local protocol and the
// sessions of nodes with shards are framed so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include <hoplite/result.h>

namespace hoplite::wire {

inline constexpr std::size_t kLengthBytes = 4;

void AppendMessageFrame(const google::protobuf::MessageLite& message, std::string& out);
// What the first kLengthBytes of a frame say.
std::size_t LengthOf(std::string_view frame);
// protocol: such a length is above the limit.
Error TooLong(std::size_t length, std::size_t most);

}  // namespace hoplite::wire

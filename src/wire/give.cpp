#include "wire/give.h"

#include <utility>
#include <variant>

#include "base/try.h"
#include "hoplite/v1/directory.pb.h"
#include "wire/directory_messages.h"

namespace hoplite::wire {

std::string EncodeGive(const protocol::InlineObject& given) {
  return ToProto(protocol::NodeAction(given)).SerializeAsString();
}

Result<protocol::InlineObject> DecodeGive(std::span<const std::byte> bytes) {
  v1::NodeAction message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::unexpected(Error(ErrorCode::kProtocol, "a give that is no message"));
  }
  TRY_ASSIGN(protocol::NodeAction action, FromProto(message));
  auto* const given = std::get_if<protocol::InlineObject>(&action);
  if (given == nullptr) {
    return std::unexpected(Error(ErrorCode::kProtocol, "a give without bytes of an object"));
  }
  return std::move(*given);
}

}  // namespace hoplite::wire

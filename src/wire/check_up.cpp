#include "wire/check_up.h"

#include "hoplite/v1/check.pb.h"
#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

FIELDS(CheckUp, FIELD(version), FIELD(since_epoch_us), FIELD(available_bytes), FIELD(limited_by),
       FIELD(descriptors), FIELD(descriptor_limit), FIELD(reached_us), FIELD(unreached));

std::string EncodeCheckUp(const CheckUp& told) {
  return Written<v1::CheckUp>(told).SerializeAsString();
}

Result<CheckUp> DecodeCheckUp(std::span<const std::byte> bytes) {
  v1::CheckUp message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::unexpected(Error(ErrorCode::kProtocol, "a check-up that is no message"));
  }
  return ReadAs<CheckUp>(message);
}

}  // namespace hoplite::wire

#include "protocol/failure.h"

#include "base/limits.h"
#include "base/text.h"
#include "protocol/object_name.h"

namespace hoplite::protocol {

std::string FailureMetadata(const Error& error) {
  std::string metadata(kFailureMark);
  metadata += static_cast<char>(error.code);
  metadata += FirstBytes(error.message, kMaxMetadataBytes - metadata.size());
  return metadata;
}

std::optional<Error> FailureIn(std::string_view metadata) {
  metadata = WithoutName(metadata);
  if (metadata.size() <= kFailureMark.size() || !metadata.starts_with(kFailureMark)) return {};
  metadata.remove_prefix(kFailureMark.size());
  const auto code = static_cast<ErrorCode>(metadata.front());
  const bool known = code >= ErrorCode::kInvalidArgument && code <= kLastErrorCode;
  metadata.remove_prefix(1);
  return Error(known ? code : ErrorCode::kFailed,
               IsUtf8(metadata) ? std::string(metadata) : "it failed, and says so in no text");
}

std::string InWords(const Loss& loss) {
  if (loss.unfinished) {
    return loss.node_name +
           ", which made it, was lost or gave up before it was whole: a new put of it would help";
  }
  return "its last copy, on " + loss.node_name + ", was lost: a new put of it would help";
}

}  // namespace hoplite::protocol

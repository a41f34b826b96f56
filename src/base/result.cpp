#include <hoplite/result.h>

namespace hoplite {

std::string_view Name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kDeleted:
      return "deleted";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kPeerLost:
      return "peer_lost";
    case ErrorCode::kDataLoss:
      return "data_loss";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kRecalled:
      return "recalled";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kFailed:
      return "failed";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kPublisherGone:
      return "publisher_gone";
  }
  return "internal";
}

std::string Error::ToString() const { return std::string(Name(code)) + ": " + message; }

}  // namespace hoplite

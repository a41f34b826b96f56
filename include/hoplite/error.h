// Errors as values: what went wrong, as a code that a program looks at and a sentence for people.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include <hoplite/export.h>

namespace hoplite {

// A code exists only if a caller can react to it in its own way; the comment names the reaction.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 1,    // correct the call
  kNotFound = 2,           // the thing named isn't there; waiting won't help
  kAlreadyExists = 3,      // choose another id, or Get what is there
  kDeleted = 4,            // the object was deleted; the message says until when the id is blocked
  kTimeout = 5,            // the deadline passed; ask again, or give up
  kCancelled = 6,          // the caller itself cancelled
  kResourceExhausted = 7,  // free memory, or start the node with more
  kUnavailable = 8,        // the node or directory can't be reached now; try again later
  kPeerLost = 9,           // a named member died; put the object again
  kDataLoss = 10,          // bytes failed their checksum everywhere they were
  kProtocol = 11,          // the other side broke the protocol; report a bug
  kRecalled = 12,          // the bytes belong to a version that was replaced; open the object again
  kInternal = 13,          // a bug of this library
  kFailed = 14,            // whoever was to make the object says that it won't come (Client::Fail)
  kConflict = 15,          // somebody else has what was claimed; take it over, or give up
  kPublisherGone = 16,     // a channel's publisher is gone; wait for a successor, or be one
};
// There is none above it.
inline constexpr ErrorCode kLastErrorCode = ErrorCode::kPublisherGone;

// "timeout", "peer_lost", …: the names that logs, the command line and Python show.
HOPLITE_EXPORT std::string_view Name(ErrorCode code);
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, ErrorCode code);  // its Name

// Why a call did not do what was asked. Result has it, and value() of a Result throws it.
struct HOPLITE_EXPORT Error {
  Error(ErrorCode code_in, std::string message_in)
      : code(code_in), message(std::move(message_in)) {}

  ErrorCode code;       // what a program looks at
  std::string message;  // one sentence that names what was wrong

  // "timeout: object 12ab… was not created within 5 s"
  std::string ToString() const;

  friend bool operator==(const Error&, const Error&) = default;
};

// Its ToString.
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, const Error& error);

}  // namespace hoplite

// The lists of what is said of registers (message_fields.h).
#pragma once

#include <cstddef>
#include <string>

#include <hoplite/result.h>

#include "protocol/register.h"
#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

using RegisterText = AtMost<protocol::kMostRegisterBytes>;

inline Result<void> ClaimIsNotNewer(const protocol::RegisterContents& entry) {
  if (entry.claim <= entry.version) return {};
  return Bad("claim", "is newer than the entry's version");
}
FIELDS(protocol::RegisterAttempt, FIELD(node), FIELD_AS(number, attempt));
FIELDS(protocol::RegisterContents, FIELD(version, OrNone), FIELD(claim, OrNone),
       FIELD(value, RegisterText), FLAT(attempt), Check<ClaimIsNotNewer>());
FIELDS(protocol::CompareAndSet, FIELD(expected, OrNone), FIELD(value, RegisterText), FIELD(claims));
FIELDS(protocol::RegisterCall, FIELD_AS(number, call), FIELD(write));

// The fields of a RegisterUse's call lie in the same message; without a call its number is 0.
struct CallOfUse {
  static constexpr std::size_t kMembers = 1;

  static void Write(const protocol::RegisterUse& use, auto& message) {
    if (use.call) WriteFields(*use.call, message);
  }
  static bool Read(auto& message, protocol::RegisterUse& use, std::string& wrong) {
    if (message.call() != 0) return ReadFields(message, use.call.emplace(), wrong);
    return !message.has_write() || Refuse(wrong, "call", "is missing beside a write");
  }
};

}  // namespace hoplite::wire

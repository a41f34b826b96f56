#include "base/text.h"

#include <string_view>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>

#include "base/clock.h"
#include "fuzz/targets.h"

namespace hoplite::fuzz {

void Text(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  if (const auto id = ObjectId::Parse(text)) {
    Require(ObjectId::Parse(id->ToHex()) == *id, "an id is read as it is written");
  }
  if (const auto id = ObjectId::FromBytes(text)) {
    Require(id->view() == text, "an id is its bytes");
  }
  if (const auto size = ParseSize(text)) {
    Require(!FormatSize(*size).empty(), "a size can be written");
  }
  if (const auto rate = ParseRate(text)) Require(*rate > 0, "a rate is above zero");
  if (const auto duration = ParseDuration(text)) {
    Require(*duration >= Duration(0), "a time is not negative");
    // What callers do with it.
    Require(Now() + *duration >= Time{}, "a deadline is in the future");
  }
  if (const auto address = ParseHostPort(text)) {
    Require(ParseHostPort(address->ToString()) == *address, "an address is read as it is written");
  }
  if (const auto op = ParseOp(text)) Require(Name(*op) == text, "an operation has its name");
  if (const auto dtype = ParseDType(text)) Require(Name(*dtype) == text, "a type has its name");
}

}  // namespace hoplite::fuzz

// What a handle answers that was made by default, or moved from.
#pragma once

#include <string>
#include <string_view>

#include <hoplite/error.h>
#include <hoplite/object_id.h>

namespace hoplite::client {

// What it shows.
inline const ObjectId kNoObject;
inline const std::string kNoText;

// Empty("draft", "Client::Create makes one")
inline Error Empty(std::string_view what, std::string_view who_makes_it) {
  return {ErrorCode::kInvalidArgument,
          "this " + std::string(what) + " is empty: " + std::string(who_makes_it)};
}

}  // namespace hoplite::client

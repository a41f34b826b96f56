// A failed object: one that has an error in the place of bytes (R69). Everywhere it is a small object
// without bytes, whose metadata tell the error; so all that holds for small objects holds for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <hoplite/result.h>

namespace hoplite::protocol {

// What no other metadata may begin with; it is no text.
inline constexpr std::string_view kFailureMark("\0failed\0", 8);

// The message is cut to what metadata may have.
std::string FailureMetadata(const Error& error);
// None: the object has not failed.
std::optional<Error> FailureIn(std::string_view metadata);

// What there is to say of an object whose last holder was lost.
std::string LastCopyLost(std::string_view node);

}  // namespace hoplite::protocol

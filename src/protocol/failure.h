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

// Of an object that is not there, and was not lost.
inline constexpr const char* kDoesNotExist =
    "it does not exist: a put of it, or a reduction into it, would help";

// How a wait for memory begins in words, wherever it stands.
inline constexpr std::string_view kNoMemory = "no memory is free for its";

// How an object ceased to exist that nobody deleted. Empty: it did not.
struct Loss {
  std::string node_name;    // of its last holder
  bool unfinished = false;  // which made it, and had not made it whole
  bool empty() const { return node_name.empty(); }
};

std::string InWords(const Loss& loss);

}  // namespace hoplite::protocol

// SourceKind: what the sources of one reduction have in common, by what their metadata says.
//
// Decides: whether a source fits (ReduceOptions::alike): the first line of its metadata is that of
// the others, and begins as was demanded. Is told: each source's metadata, in the order in which
// they are heard of. Must never: understand metadata, whose format is the callers' own. A value
// type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

namespace hoplite::planner {

class SourceKind {
 public:
  // None: everything fits. Else the beginning of every source's metadata.
  explicit SourceKind(std::optional<std::string> beginning) : beginning_(std::move(beginning)) {}

  // The first source that says what it is decides what the others have to be.
  // invalid_argument names both, and what they say.
  Result<void> Hear(const ObjectId& source, std::string_view metadata);
  // Whether Hear would take it now.
  bool Fits(std::string_view metadata) const;

 private:
  std::optional<std::string> beginning_;
  std::optional<std::string> line_;  // of the first source that has metadata
  ObjectId first_;
};

}  // namespace hoplite::planner

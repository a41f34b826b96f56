// SourceKind: what the sources of one reduction have in common, by what their metadata says.
//
// Decides: whether a source fits. Its elements are of the type that was asked for, or else of that of
// the first source; the first line of its metadata is that of the others, and begins as was demanded
// (ReduceOptions::alike). Is told: each source's metadata, in the order in which they are heard of.
// Must never: understand what users write there, whose format is their own; fold elements whose type
// nobody named. A value type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

namespace hoplite::planner {

class SourceKind {
 public:
  // `dtype`: none is that of the first source. `beginning`: of every source's metadata; none:
  // whatever it says fits.
  SourceKind(Op op, std::optional<DType> dtype, std::optional<std::string> beginning)
      : op_(op), asked_(dtype), dtype_(dtype), beginning_(std::move(beginning)) {}

  // The first source that says what it is decides what the others have to be.
  // invalid_argument names both, and what they say.
  Result<void> Hear(const ObjectId& source, std::string_view metadata);
  // Whether Hear would take it now.
  bool Fits(std::string_view metadata) const;
  // Of the elements; none: no source was heard of.
  std::optional<DType> dtype() const { return dtype_; }

 private:
  Result<void> HearLine(const ObjectId& source, std::string_view users);
  Result<void> HearElements(const ObjectId& source, std::optional<DType> elements);
  bool FitElements(std::optional<DType> elements) const;

  Op op_;
  std::optional<DType> asked_;
  std::optional<DType> dtype_;
  ObjectId typed_by_;  // the first source, if nothing was asked for
  std::optional<std::string> beginning_;
  std::optional<std::string> line_;  // of the first source that has metadata
  ObjectId first_;
};

}  // namespace hoplite::planner

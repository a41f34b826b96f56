#include "planner/reduce/source_kind.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "protocol/elements.h"

namespace hoplite::planner {
namespace {

constexpr std::size_t kMostShown = 200;

std::string_view FirstLine(std::string_view metadata) {
  return metadata.substr(0, metadata.find('\n'));
}

// Metadata may be any bytes; an error travels and is shown as text.
std::string Shown(std::string_view line) {
  if (line.size() <= kMostShown && IsPlainText(line)) return fmt::format("'{}'", line);
  const std::string_view begin = line.substr(0, kMostShown);
  return IsPlainText(begin) ? fmt::format("'{}...'", begin)
                            : fmt::format("{} bytes that are no text", line.size());
}

std::unexpected<Error> Differs(const std::string& what) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, what));
}

}  // namespace

Result<void> SourceKind::HearElements(const ObjectId& source, std::optional<DType> elements) {
  if (FitElements(elements)) {
    if (!dtype_) typed_by_ = source;
    if (!dtype_) dtype_ = elements;
    return {};
  }
  const std::string text = "source " + source.ToHex();
  if (!elements) return Differs(text + " does not say of what dtype it is: give the reduction one");
  if (!dtype_)
    return Differs(fmt::format("{}: {}", text, Supports(op_, *elements).error().message));
  if (asked_) {
    return Differs(
        fmt::format("the reduction is of {}, but {} of {}", Name(*dtype_), text, Name(*elements)));
  }
  return Differs(fmt::format("source {} is of {}, but {} of {}", typed_by_.ToHex(), Name(*dtype_),
                             text, Name(*elements)));
}

bool SourceKind::FitElements(std::optional<DType> elements) const {
  if (!elements) return asked_.has_value();
  return dtype_ ? *elements == *dtype_ : Supports(op_, *elements).has_value();
}

Result<void> SourceKind::HearLine(const ObjectId& source, std::string_view users) {
  if (!beginning_ || users.empty()) return {};
  const std::string_view line = FirstLine(users);
  if (line_ && line != *line_) {
    return Differs(fmt::format("source {} is described as {}, but source {} as {}", first_.ToHex(),
                               Shown(*line_), source.ToHex(), Shown(line)));
  }
  if (!line.starts_with(*beginning_)) {
    return Differs(
        fmt::format("the reduction is of what begins with {}, but source {} is "
                    "described as {}",
                    Shown(*beginning_), source.ToHex(), Shown(line)));
  }
  if (!line_) {
    line_ = line;
    first_ = source;
  }
  return {};
}

// What users wrote says more.
Result<void> SourceKind::Hear(const ObjectId& source, std::string_view metadata) {
  TRY(HearLine(source, protocol::UsersPart(metadata)));
  return HearElements(source, protocol::ElementsIn(metadata));
}

bool SourceKind::Fits(std::string_view metadata) const {
  if (!FitElements(protocol::ElementsIn(metadata))) return false;
  metadata = protocol::UsersPart(metadata);
  if (!beginning_ || metadata.empty()) return true;
  const std::string_view line = FirstLine(metadata);
  return line.starts_with(*beginning_) && (!line_ || line == *line_);
}

}  // namespace hoplite::planner

#include "planner/source_kind.h"

#include <fmt/format.h>

#include "base/text.h"

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

Result<void> SourceKind::Hear(const ObjectId& source, std::string_view metadata) {
  if (!beginning_ || metadata.empty()) return {};
  const std::string_view line = FirstLine(metadata);
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

bool SourceKind::Fits(std::string_view metadata) const {
  if (!beginning_ || metadata.empty()) return true;
  const std::string_view line = FirstLine(metadata);
  return line.starts_with(*beginning_) && (!line_ || line == *line_);
}

}  // namespace hoplite::planner

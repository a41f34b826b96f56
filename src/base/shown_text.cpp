#include "base/shown_text.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"

namespace hoplite {
namespace {

constexpr std::size_t kLongestCharacter = 4;

// Of the character that the text begins with; 0: it begins with none.
std::size_t LengthOfFirst(std::string_view text) {
  const std::size_t most = std::min(text.size(), kLongestCharacter);
  for (std::size_t length = 1; length <= most; ++length) {
    if (IsUtf8(text.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

std::string ShownText(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = LengthOfFirst(text);
    if (length > 0) {
      shown += text.substr(0, length);
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::string ShownName(std::string_view name) {
  std::string line = "name:" + OneLine(name);
  // A space would end the word, and what follows would look like the command's own.
  if (line.find_first_of(" \"") == std::string::npos) return line;
  std::string quoted = "\"";
  for (const char c : line) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace hoplite

// How wide UTF-8 text is on a terminal: each character is one column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace hoplite::cli::top {

inline bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

inline std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, BeginsCharacter));
}

// Its first characters, or all of them.
inline std::string_view Clip(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (BeginsCharacter(text[i]) && characters++ == most) return text.substr(0, i);
  }
  return text;
}

// Exactly so wide: clipped, or with blanks behind it.
inline std::string Fit(std::string_view text, std::size_t width) {
  std::string fitted(Clip(text, width));
  fitted.append(width - Width(fitted), ' ');
  return fitted;
}

}  // namespace hoplite::cli::top

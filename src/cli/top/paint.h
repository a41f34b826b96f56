// From a picture to lines of text. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/top/model.h"
#include "cli/top/view.h"

namespace hoplite::cli::top {

// Of the terminal, in characters. 0: no limit.
struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
};

enum class Style : std::uint8_t { kPlain, kHeading, kTrouble, kChosen };

struct Line {
  std::string text;  // of printable characters, at most as wide as the terminal
  Style style = Style::kPlain;
  friend bool operator==(const Line&, const Line&) = default;
};

// At most as many lines as the terminal has.
std::vector<Line> Paint(const Picture& picture, const View& view, Size size);

}  // namespace hoplite::cli::top

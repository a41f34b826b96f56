#include "cli/demo/screen.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"

namespace hoplite::cli::demo {

Screen::Screen(bool quiet) : quiet_(quiet), live_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

Screen::~Screen() { Erase(); }

void Screen::Erase() {
  if (shown_ > 0) fmt::print(stderr, "\x1b[{}F\x1b[J", shown_);
  std::fflush(stderr);
  shown_ = 0;
}

void Screen::Say(const std::string& line) {
  if (quiet_) return;
  Erase();
  (void)Print(line + '\n');  // CheckOutput tells at the end if it did not come through
}

void Screen::Show(const std::vector<std::string>& lines) {
  if (!live_) return;
  Erase();
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  shown_ = lines.size();
}

}  // namespace hoplite::cli::demo

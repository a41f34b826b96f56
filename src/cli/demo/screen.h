// Screen: a story that scrolls by on standard output, and below it, if standard error is a
// terminal, a few lines that change in place. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/time.h"

namespace hoplite::cli::demo {

// How often the demo looks at the cluster, to show how far it is.
constexpr Duration kLook = std::chrono::milliseconds(100);

class Screen {
 public:
  explicit Screen(bool quiet);  // quiet: says and shows nothing
  ~Screen();                    // takes the changing lines away

  // Whether Show is seen; if not, call Say now and then with how things stand.
  bool live() const { return live_; }
  void Say(const std::string& line);
  // The changing lines, in place of those before.
  void Show(const std::vector<std::string>& lines);

 private:
  void Erase();

  const bool quiet_;
  const bool live_;
  std::size_t shown_ = 0;
};

}  // namespace hoplite::cli::demo

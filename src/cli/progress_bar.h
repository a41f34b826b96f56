// ProgressBar: shows on standard error how far a long transfer is; nothing if that is no terminal.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace hoplite::cli {

// "[#########.............]  41 %", `width` characters between the brackets.
std::string Bar(std::uint64_t done, std::uint64_t total, std::size_t width);

class ProgressBar {
 public:
  ProgressBar(std::string label, std::uint64_t total_bytes);
  ~ProgressBar();  // leaves an empty line, so that what follows stands alone
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(std::uint64_t done_bytes);  // cheap: draws a few times a second only

 private:
  const std::string label_;
  const std::uint64_t total_bytes_;
  const bool visible_;
  Time next_draw_;
};

}  // namespace hoplite::cli

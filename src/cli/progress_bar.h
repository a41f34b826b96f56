// ProgressBar: shows on standard error how far a long transfer is, and how fast; nothing if that is
// no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace hoplite::cli {

// "[#########.............]  41 %", `width` characters between the brackets.
std::string Bar(std::uint64_t done, std::uint64_t total, std::size_t width);
// What is shown after so long: a bar with a rate, or bytes and a rate if nobody knows the total.
std::string ProgressText(std::uint64_t done, std::optional<std::uint64_t> total, Duration passed);

class ProgressBar {
 public:
  // Without a total: its end is not known. `beside`: a descriptor that the bytes come from or go
  // to. Nothing is shown if that is a terminal: somebody reads or types there.
  ProgressBar(std::string label, std::optional<std::uint64_t> total_bytes, int beside = -1);
  ~ProgressBar();  // leaves an empty line, so that what follows stands alone
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool visible() const { return visible_; }
  void Update(std::uint64_t done_bytes);  // cheap: draws a few times a second only

 private:
  const std::string label_;
  const std::optional<std::uint64_t> total_bytes_;
  const bool visible_;
  const Time begun_;
  Time next_draw_;
};

}  // namespace hoplite::cli

#include "cli/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

namespace hoplite::cli {

std::string Bar(std::uint64_t done, std::uint64_t total, std::size_t width) {
  const double share =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}] {:3.0f} %", std::string(filled, '#'), std::string(width - filled, '.'),
                     share * 100);
}

ProgressBar::ProgressBar(std::string label, std::uint64_t total_bytes)
    : label_(std::move(label)),
      total_bytes_(total_bytes),
      visible_(::isatty(STDERR_FILENO) == 1),
      next_draw_(Now()) {}

ProgressBar::~ProgressBar() {
  if (visible_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::Update(std::uint64_t done_bytes) {
  if (!visible_) return;
  const Time now = Now();
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  fmt::print(stderr, "\r\x1b[K{} {} {} of {}", label_, Bar(done_bytes, total_bytes_, 40),
             FormatSize(done_bytes), FormatSize(total_bytes_));
  std::fflush(stderr);
}

}  // namespace hoplite::cli

#include "cli/progress_bar.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

namespace hoplite::cli {
namespace {

constexpr std::size_t kWidth = 40;

}  // namespace

std::string Bar(std::uint64_t done, std::uint64_t total, std::size_t width) {
  const double share =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}] {:3.0f} %", std::string(filled, '#'), std::string(width - filled, '.'),
                     share * 100);
}

std::string ProgressText(std::uint64_t done, std::optional<std::uint64_t> total, Duration passed) {
  std::string text = FormatSize(done);
  if (total) text = fmt::format("{} {} of {}", Bar(done, *total, kWidth), text, FormatSize(*total));
  const double seconds = std::chrono::duration<double>(passed).count();
  if (seconds <= 0) return text;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / seconds);
  return fmt::format("{}, {}/s", text, FormatSize(rate));
}

ProgressBar::ProgressBar(std::string label, std::optional<std::uint64_t> total_bytes, int beside)
    : label_(std::move(label)),
      total_bytes_(total_bytes),
      visible_(::isatty(STDERR_FILENO) == 1 && ::isatty(beside) != 1),
      begun_(Now()),
      next_draw_(begun_) {}

ProgressBar::~ProgressBar() {
  if (visible_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::Update(std::uint64_t done_bytes) {
  if (!visible_) return;
  const Time now = Now();
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  fmt::print(stderr, "\r\x1b[K{} {}", label_, ProgressText(done_bytes, total_bytes_, now - begun_));
  std::fflush(stderr);
}

}  // namespace hoplite::cli

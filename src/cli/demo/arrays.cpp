#include "cli/demo/arrays.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace hoplite::cli::demo {
namespace {

constexpr double kSeconds = 1.2;  // of one array over one link

}  // namespace

Result<Arrays> Arrays::Of(const Subject& subject, std::size_t count) {
  TRY_ASSIGN(auto file, MapFile(subject.path, subject.size_bytes));
  const auto wanted = static_cast<std::size_t>(
      kSeconds * static_cast<double>(subject.rate_bytes_per_second) / sizeof(float));
  return Arrays(std::move(file), std::min<std::size_t>(wanted, subject.size_bytes / count));
}

Arrays::Arrays(std::shared_ptr<const std::byte> file, std::size_t length)
    : file_(std::move(file)), length_(length) {}

std::vector<float> Arrays::At(std::size_t index) const { return SumOf({{index}}); }

std::vector<float> Arrays::SumOf(std::span<const std::size_t> indices) const {
  std::vector<float> sum(length_);
  for (const std::size_t index : indices) {
    const std::byte* const part = file_.get() + index * length_;
    for (std::size_t i = 0; i < length_; ++i) {
      sum[i] += static_cast<float>(std::to_integer<unsigned>(part[i]));
    }
  }
  return sum;
}

}  // namespace hoplite::cli::demo

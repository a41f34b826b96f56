#include "cli/transfer_rates.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/text.h"

namespace hoplite::cli {

void TransferRates::Look(const ClusterStatus& status, Time at) {
  const double seconds = std::chrono::duration<double>(at - at_).count();
  const auto before = std::exchange(seen_, {});
  at_ = at;
  for (const ObjectInfo& object : status.objects) {
    for (const TransferInfo& transfer : object.transfers) {
      Seen& now = seen_[Key(transfer)];
      now.valid_bytes = transfer.valid_bytes;
      const auto then = before.find(Key(transfer));
      // Fewer bytes are those of a newer version.
      if (then == before.end() || then->second.valid_bytes > now.valid_bytes) continue;
      const auto came = static_cast<double>(now.valid_bytes - then->second.valid_bytes);
      if (seconds > 0) now.bytes_per_second = static_cast<std::uint64_t>(came / seconds);
    }
  }
}

bool TransferRates::lacks_some() const {
  return std::ranges::any_of(seen_, [](const auto& one) { return !one.second.bytes_per_second; });
}

std::optional<std::uint64_t> TransferRates::BytesPerSecond(const TransferInfo& transfer) const {
  const auto seen = seen_.find(Key(transfer));
  return seen == seen_.end() ? std::nullopt : seen->second.bytes_per_second;
}

std::string TransferRates::ToText(const TransferInfo& transfer, std::uint64_t size_bytes) const {
  const auto rate = BytesPerSecond(transfer);
  if (!rate) return {};
  if (*rate == 0) return "  stands still";
  const std::uint64_t left = size_bytes - std::min(size_bytes, transfer.valid_bytes);
  return fmt::format("  {}/s, {} s left", FormatSize(*rate), (left + *rate - 1) / *rate);
}

}  // namespace hoplite::cli

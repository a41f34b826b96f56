// TransferRates: how fast transfers are, by two pictures one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <hoplite/status.h>

#include "base/time.h"

namespace hoplite::cli {

class TransferRates {
 public:
  // A picture that was taken at this time; each is compared with the one before.
  void Look(const ClusterStatus& status, Time at);
  // Whether the last picture shows a transfer that the one before did not.
  bool lacks_some() const;

  // None: it was not there before.
  std::optional<std::uint64_t> BytesPerSecond(const TransferInfo& transfer) const;
  // "  105.0 MiB/s, 3 s left"; "  stands still"; empty: not known.
  std::string ToText(const TransferInfo& transfer, std::uint64_t size_bytes) const;

 private:
  struct Key {
    explicit Key(const TransferInfo& transfer)
        : object(transfer.object), from(transfer.from), to(transfer.to) {}
    ObjectId object;
    std::string from;
    std::string to;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Seen {
    std::uint64_t valid_bytes = 0;
    std::optional<std::uint64_t> bytes_per_second;
  };

  Time at_{};
  std::map<Key, Seen> seen_;
};

}  // namespace hoplite::cli

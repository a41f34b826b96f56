#include "base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/ids.h"

namespace hoplite {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

// A non-negative decimal number followed by one of the units, or by nothing if "" is among them.
Result<double> ParseWithUnit(std::string_view text, std::span<const Unit> units, const char* kind,
                             const char* examples) {
  double number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc{} && number >= 0 && std::isfinite(number)) {
    const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    for (const Unit& unit : units) {
      if (suffix == unit.suffix) return number * unit.factor;
    }
  }
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("'{}' is no {}: write {}", text.substr(0, 64), kind, examples)));
}

Result<std::uint64_t> ToWhole(Result<double> number, std::string_view text) {
  if (!number) return std::unexpected(number.error());
  if (*number >= 9.2e18) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is too large", text.substr(0, 64))));
  }
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

Result<std::uint64_t> ParseSize(std::string_view text) {
  static constexpr std::array<Unit, 10> kUnits{{{"", 1},
                                                {"B", 1},
                                                {"KiB", 1024},
                                                {"MiB", 1048576},
                                                {"GiB", 1073741824.0},
                                                {"TiB", 1099511627776.0},
                                                {"KB", 1e3},
                                                {"MB", 1e6},
                                                {"GB", 1e9},
                                                {"TB", 1e12}}};
  return ToWhole(ParseWithUnit(text, kUnits, "size", "64KiB, 16MiB, 1GiB or plain bytes"), text);
}

Result<std::uint64_t> ParseRate(std::string_view text) {
  static constexpr std::array<Unit, 4> kUnits{
      {{"bit", 0.125}, {"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6}}};
  auto rate = ToWhole(ParseWithUnit(text, kUnits, "rate", "100mbit or 10gbit"), text);
  if (rate && *rate == 0) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument, "a rate must be above zero"));
  }
  return rate;
}

Result<Duration> ParseDuration(std::string_view text) {
  static constexpr std::array<Unit, 6> kUnits{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
  const auto nanoseconds = ToWhole(ParseWithUnit(text, kUnits, "time", "200ms or 30s"), text);
  if (!nanoseconds) return std::unexpected(nanoseconds.error());
  return Duration(*nanoseconds);
}

std::string FormatSize(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string FormatExactSize(std::uint64_t bytes) {
  return fmt::format("{} bytes ({})", bytes, FormatSize(bytes));
}

std::string HostPort::ToString() const {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<HostPort> ParseHostPort(std::string_view text) {
  const auto colon = text.rfind(':');
  HostPort result;
  bool valid = colon != std::string_view::npos && colon > 0;
  if (valid) {
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    if (host.front() == '[') {
      valid = host.size() > 2 && host.back() == ']';
      if (valid) host = host.substr(1, host.size() - 2);
    } else {
      valid = !host.contains(':');
    }
    valid = valid && host.find_first_of("[]") == std::string_view::npos;
    const auto [rest, status] =
        std::from_chars(port.data(), port.data() + port.size(), result.port);
    valid = valid && status == std::errc{} && rest == port.data() + port.size();
    result.host = host;
  }
  if (!valid) {
    return std::unexpected(Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is no address: write HOST:PORT or [IPV6]:PORT", text.substr(0, 128))));
  }
  return result;
}

NodeId RandomNodeId() {
  std::uint64_t raw = 0;
  while (raw == 0) {
    if (::getrandom(&raw, sizeof raw, 0) != static_cast<ssize_t>(sizeof raw)) raw = 0;
  }
  return NodeId{raw};
}

std::string ToString(NodeId id) { return fmt::format("{:016x}", Raw(id)); }

std::string ToString(const Stamp& stamp) {
  return fmt::format("{}.{}", stamp.incarnation, stamp.sequence);
}

}  // namespace hoplite

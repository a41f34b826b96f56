#include "base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

#include <arpa/inet.h>
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

std::string FormatAge(Duration age) {
  constexpr Duration kYoung = std::chrono::seconds(5);
  return age < kYoung ? "" : fmt::format(", {:.0f} s ago", ToSeconds(age));
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

namespace {

constexpr char32_t kNoCharacter = ~char32_t{0};

// The first character, which is taken off the text.
char32_t TakeCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if ((lead >= 0x80 && lead < 0xc0) || lead >= 0xf8 || text.size() < length) return kNoCharacter;
  char32_t character = length == 1 ? lead : lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return kNoCharacter;
    character = character << 6 | (next & 0x3f);
  }
  text.remove_prefix(length);
  return character < kLeast[length] ? kNoCharacter : character;
}

bool IsCharacter(char32_t character) {
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return !surrogate && character <= 0x10ffff;
}

// Unicode's category Cf: what has no look of its own, but changes the look or the order of others.
bool IsFormat(char32_t character) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  constexpr auto kRanges = std::to_array<Range>({{0xad, 0xad},
                                                 {0x600, 0x605},
                                                 {0x61c, 0x61c},
                                                 {0x6dd, 0x6dd},
                                                 {0x70f, 0x70f},
                                                 {0x890, 0x891},
                                                 {0x8e2, 0x8e2},
                                                 {0x180e, 0x180e},
                                                 {0x200b, 0x200f},
                                                 {0x202a, 0x202e},
                                                 {0x2060, 0x206f},
                                                 {0xfeff, 0xfeff},
                                                 {0xfff9, 0xfffb},
                                                 {0x110bd, 0x110bd},
                                                 {0x110cd, 0x110cd},
                                                 {0x13430, 0x1343f},
                                                 {0x1bca0, 0x1bca3},
                                                 {0x1d173, 0x1d17a},
                                                 {0xe0000, 0xe007f}});
  return std::ranges::any_of(kRanges, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

bool IsPlain(char32_t character) {
  const bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
  const bool line_break = character == 0x2028 || character == 0x2029;
  return !control && !line_break && !IsFormat(character) && IsCharacter(character);
}

bool IsHostCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
}

}  // namespace

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    if (!IsPlain(TakeCharacter(text))) return false;
  }
  return true;
}

std::string PrintableText(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const std::string_view from = text;
    const char32_t character = TakeCharacter(text);
    if (character == kNoCharacter || !IsCharacter(character)) {
      text = from.substr(1);
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(from.front()));
    } else if (IsPlain(character) || character == '\n' || character == '\t') {
      printable += from.substr(0, from.size() - text.size());
    } else {
      printable += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(character));
    }
  }
  return printable;
}

std::string OneLine(std::string_view text) {
  std::string line;
  for (const char byte : PrintableText(text)) {
    if (byte == '\n' || byte == '\t') {
      line += byte == '\n' ? "\\n" : "\\t";
    } else {
      line += byte;
    }
  }
  return line;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!IsCharacter(TakeCharacter(text))) return false;
  }
  return true;
}

std::string_view FirstBytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

bool IsHost(const std::string& text) {
  in6_addr ignored{};
  const std::string without_scope = text.substr(0, text.find('%'));
  if (::inet_pton(AF_INET6, without_scope.c_str(), &ignored) == 1) return true;
  return !text.empty() && std::ranges::all_of(text, IsHostCharacter);
}

std::uint64_t RandomId() {
  std::uint64_t id = 0;
  while (id == 0) {
    if (::getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) id = 0;
  }
  return id;
}

NodeId RandomNodeId() { return NodeId{RandomId()}; }

std::string ToString(NodeId id) { return fmt::format("{:016x}", Raw(id)); }

std::string ToString(const Stamp& stamp) {
  return fmt::format("{}.{}", stamp.incarnation, stamp.sequence);
}

std::string NameSome(std::span<const std::string> all, std::size_t most, std::string_view between) {
  std::string text;
  for (const std::string& one : all.first(std::min(most, all.size()))) {
    if (!text.empty()) text += between;
    text += one;
  }
  if (all.size() > most) text += fmt::format(" and {} more", all.size() - most);
  return text;
}

}  // namespace hoplite

// Sizes, rates, times and addresses as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <hoplite/result.h>

#include "base/time.h"

namespace hoplite {

Result<std::uint64_t> ParseSize(std::string_view text);  // "64KiB", "16MiB", "1GiB", "1000"
Result<std::uint64_t> ParseRate(std::string_view text);  // "100mbit", "10gbit" -> bytes per second
Result<Duration> ParseDuration(std::string_view text);   // "200ms", "30s", "5us", "2m"

std::string FormatSize(std::uint64_t bytes);       // "16.0 MiB"
std::string FormatExactSize(std::uint64_t bytes);  // "16777216 bytes (16.0 MiB)"
// ", 90 s ago", behind what may be otherwise by now; nothing behind what is younger than 5 s.
std::string FormatAge(Duration age);

// "HOST:PORT", "[v6]:PORT". Port 0 is allowed: it means "pick one".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  std::string ToString() const;  // brackets a v6 host
  friend bool operator==(const HostPort&, const HostPort&) = default;
};
Result<HostPort> ParseHostPort(std::string_view text);

// Well-formed UTF-8 (no surrogates, nothing written longer than it must be) without control
// characters, line breaks and format characters, which reorder or hide others (U+202E): what may go
// through a protobuf string, a log line and a terminal.
bool IsPlainText(std::string_view text);
// The text for a terminal: its lines and tabs as they are, what else IsPlainText refuses as \u{202e},
// bytes that are no UTF-8 as \xff.
std::string PrintableText(std::string_view text);
// The same in one line: line breaks and tabs as \n and \t, too.
std::string OneLine(std::string_view text);
// Well-formed UTF-8: what may go through a protobuf string.
bool IsUtf8(std::string_view text);
// As many whole characters of such a text as fit into so many bytes.
std::string_view FirstBytes(std::string_view text, std::size_t most);
// "a, b and 3 more": so many of them are named.
std::string NameSome(std::span<const std::string> all, std::size_t most,
                     std::string_view between = ", ");
// A host as peers are told it: a name, an IPv4 address, or an IPv6 address without brackets.
bool IsHost(const std::string& text);

}  // namespace hoplite

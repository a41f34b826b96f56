// Strangers: what a connection speaks that does not speak the protocol, in words, and the log of
// those who do not, which a flood of them must not fill.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace hoplite::directory {

// "gRPC, ...", as its first bytes show; none: they show nothing. A length above the limit has 4 bytes.
std::optional<std::string> ForeignProtocol(std::string_view begun);
// Why bytes that are no frame are none: the foreign protocol, or else the reader's own words.
std::string WhyNoFrame(std::string_view begun, const std::string& why);

class Strangers {
 public:
  // One line a second at most; the next line says how many were left out.
  void Log(const std::string& peer, const std::string& why);

 private:
  std::optional<Time> last_;
  std::size_t left_out_ = 0;
};

}  // namespace hoplite::directory

#include "directory/strangers.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"

namespace hoplite::directory {
namespace {

constexpr std::chrono::seconds kBetweenLines(1);
constexpr std::string_view kOlder =
    "gRPC (HTTP/2), as older versions of Hoplite do: all members of a cluster need one version";

// A server of HTTP/2 begins with a SETTINGS frame: length (3 bytes), type 4.
bool IsHttp2Server(std::string_view begun) {
  return begun.size() >= 4 && begun[0] == 0 && begun[1] == 0 && begun[3] == 4;
}

bool IsTls(std::string_view begun) {
  const bool shakes_hands_or_refuses = begun.size() >= 2 && (begun[0] == 0x16 || begun[0] == 0x15);
  return shakes_hands_or_refuses && begun[1] == 0x03;
}

}  // namespace

std::optional<std::string> ForeignProtocol(std::string_view begun) {
  if (begun.starts_with("PRI ") || IsHttp2Server(begun)) return std::string(kOlder);
  if (IsTls(begun)) return "TLS, and this member has no certificate and no secret";
  for (const std::string_view verb : {"GET ", "POST", "HEAD", "PUT ", "OPTI", "HTTP"}) {
    if (begun.starts_with(verb)) return "HTTP";
  }
  return std::nullopt;
}

std::string WhyNoFrame(std::string_view begun, const std::string& why) {
  const std::optional<std::string> foreign = ForeignProtocol(begun);
  return foreign ? "it speaks " + *foreign : why;
}

void Strangers::Log(const std::string& peer, const std::string& why) {
  const Time now = Now();
  if (last_ && now - *last_ < kBetweenLines) {
    ++left_out_;
    return;
  }
  last_ = now;
  const std::size_t more = std::exchange(left_out_, 0);
  log::Warn("the connection from {} is closed: {}{}", peer, why,
            more > 0 ? fmt::format(" ({} others were closed since the last such line)", more) : "");
}

}  // namespace hoplite::directory

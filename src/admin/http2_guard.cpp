#include "admin/http2_guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/try.h"

namespace hoplite::admin {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : std::uint8_t { kHeaders = 1, kSettings = 4, kContinuation = 9 };
constexpr std::uint8_t kEndHeaders = 4;

std::unexpected<Error> Bad(std::string why) {
  return std::unexpected(Error(ErrorCode::kProtocol, std::move(why)));
}

}  // namespace

Result<void> Http2Guard::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (preface_ < kPreface.size()) {
      TRY(TakePreface(bytes));
    } else if (payload_ > 0) {
      const std::size_t some = std::min(payload_, bytes.size());
      payload_ -= some;
      bytes.remove_prefix(some);
    } else {
      TRY(TakeHeader(bytes));
    }
  }
  return {};
}

Result<void> Http2Guard::TakePreface(std::string_view& bytes) {
  const std::string_view rest = kPreface.substr(preface_);
  const std::size_t some = std::min(rest.size(), bytes.size());
  if (bytes.substr(0, some) != rest.substr(0, some)) return Bad("it does not speak HTTP/2");
  preface_ += some;
  bytes.remove_prefix(some);
  return {};
}

Result<void> Http2Guard::TakeHeader(std::string_view& bytes) {
  const std::size_t some = std::min(header_.size() - header_bytes_, bytes.size());
  std::ranges::copy(bytes.substr(0, some), header_.begin() + header_bytes_);
  header_bytes_ += some;
  bytes.remove_prefix(some);
  if (header_bytes_ < header_.size()) return {};
  header_bytes_ = 0;
  return TakeFrame();
}

Result<void> Http2Guard::TakeFrame() {
  payload_ = std::size_t{header_[0]} << 16 | std::size_t{header_[1]} << 8 | header_[2];
  const std::uint8_t type = header_[3];
  const bool ends = (header_[4] & kEndHeaders) != 0;
  if (payload_ > kMaxFrameBytes) {
    return Bad(
        fmt::format("a frame of {} bytes: at most {} are allowed", payload_, kMaxFrameBytes));
  }
  if (!begun_ && type != kSettings) return Bad("its first frame is not SETTINGS");
  begun_ = true;
  if ((type == kContinuation) != (block_ > 0)) return Bad("a header block is not in one piece");
  if (type != kHeaders && type != kContinuation) return {};
  block_ += header_.size() + payload_;
  if (block_ > kMaxHeaderBlockBytes) {
    return Bad(fmt::format("a header block of more than {} bytes", kMaxHeaderBlockBytes));
  }
  if (ends) block_ = 0;
  return {};
}

}  // namespace hoplite::admin

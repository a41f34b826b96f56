#include "net/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/try.h"

namespace hoplite::net {

FrameReader::FrameReader(StreamPtr stream) : stream_(std::move(stream)) {}

Task<Result<wire::Frame>> FrameReader::Next() {
  HOPLITE_CHECK(payload_left_ == 0, "the payload comes before the next frame");
  CO_TRY(co_await Fill(wire::kHeaderBytes));
  const std::span<const std::byte> bytes(buffer_);
  const auto header_bytes = bytes.subspan(begin_).first<wire::kHeaderBytes>();
  CO_TRY_ASSIGN(const wire::Header header, wire::DecodeHeader(header_bytes));
  const std::size_t frame_bytes = wire::kHeaderBytes + header.body_bytes;
  CO_TRY(co_await Fill(frame_bytes));
  const auto body = bytes.subspan(begin_ + wire::kHeaderBytes, header.body_bytes);
  auto frame = wire::DecodeBody(header, body);
  begin_ += frame_bytes;
  if (frame) {
    if (const auto* data = std::get_if<wire::Data>(&*frame)) payload_left_ = data->payload_bytes;
    if (const auto* give = std::get_if<wire::Give>(&*frame)) payload_left_ = give->payload_bytes;
    if (const auto* trace = std::get_if<wire::Trace>(&*frame)) payload_left_ = trace->payload_bytes;
    if (const auto* check = std::get_if<wire::Check>(&*frame)) payload_left_ = check->payload_bytes;
  }
  co_return frame;
}

Task<Result<void>> FrameReader::ReceivePayload(std::span<std::byte> into) {
  HOPLITE_CHECK(into.size() <= payload_left_, "no more than the payload");
  payload_left_ -= static_cast<std::uint32_t>(into.size());
  const std::size_t ahead = TakeReadAhead(into);
  if (ahead == into.size()) co_return Result<void>();
  co_return co_await ReceiveAll(stream_, into.subspan(ahead));
}

Task<Result<std::size_t>> FrameReader::ReceivePayloadSome(std::span<std::byte> into) {
  HOPLITE_CHECK(into.size() <= payload_left_, "no more than the payload");
  std::size_t got = TakeReadAhead(into);
  if (got == 0 && !into.empty()) {
    const bool to_its_end = into.size() == payload_left_;
    begin_ = end_ = 0;
    CO_TRY_ASSIGN(const std::size_t count,
                  co_await stream_->ReceiveOn(
                      into, to_its_end ? std::span(buffer_) : std::span<std::byte>()));
    got = std::min(count, into.size());
    end_ = count - got;
  }
  payload_left_ -= static_cast<std::uint32_t>(got);
  co_return got;
}

std::size_t FrameReader::TakeReadAhead(std::span<std::byte> into) {
  const std::size_t ahead = std::min(into.size(), end_ - begin_);
  std::memcpy(into.data(), buffer_.data() + begin_, ahead);
  begin_ += ahead;
  return ahead;
}

// Until at least `wanted` bytes are there, at begin_.
Task<Result<void>> FrameReader::Fill(std::size_t wanted) {
  if (begin_ + wanted > buffer_.size() || begin_ == end_) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  while (end_ - begin_ < wanted) {
    const auto room = std::span(buffer_).subspan(end_);
    CO_TRY_ASSIGN(const std::size_t count, co_await stream_->ReceiveSome(room));
    end_ += count;
  }
  co_return Result<void>();
}

}  // namespace hoplite::net

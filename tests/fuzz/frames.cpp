#include <asio/co_spawn.hpp>
#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz/script.h"
#include "fuzz/targets.h"
#include "net/frame_reader.h"
#include "net/handshake.h"
#include "wire/check_up.h"
#include "wire/give.h"
#include "wire/trace.h"

namespace hoplite::fuzz {
namespace {

// Of a decision beside its text.
constexpr std::size_t kTraceHeadBytes = 8 + ObjectId::kBytes + 1 + 1;
constexpr net::Identity kIdentity{.cluster = kCluster, .self = kSelf};

// A frame that was read can be written, and is then read as the same.
void RequireSameFrame(const wire::Frame& frame) {
  const std::vector<std::byte> bytes = wire::Encode(frame);
  const auto header = wire::DecodeHeader(std::span(bytes).first<wire::kHeaderBytes>());
  Require(header.has_value(), "a header is read as it is written");
  const auto back = wire::DecodeBody(*header, std::span(bytes).subspan(wire::kHeaderBytes));
  Require(back.has_value() && wire::Encode(*back) == bytes, "a frame is read as it is written");
}

// Whatever it is, it is read to its end or refused.
void ReadPayload(const wire::Frame& frame, std::span<const std::byte> payload) {
  if (std::holds_alternative<wire::Trace>(frame)) {
    const auto trace = wire::DecodeTrace(payload);
    std::size_t bytes = 0;
    if (trace) {
      for (const wire::TraceEntry& entry : *trace) bytes += kTraceHeadBytes + entry.text.size();
    }
    Require(!trace || bytes == payload.size(), "a trace has nothing that nobody reads");
  } else if (std::holds_alternative<wire::Check>(frame)) {
    const auto told = wire::DecodeCheckUp(payload);
    if (!told) return;
    const std::string again = wire::EncodeCheckUp(*told);
    const auto back = wire::DecodeCheckUp(std::as_bytes(std::span(again)));
    Require(back.has_value() && *back == *told, "a check-up that was read can be written");
  } else if (std::holds_alternative<wire::Give>(frame)) {
    const auto given = wire::DecodeGive(payload);
    if (!given) return;
    const std::string again = wire::EncodeGive(*given);
    Require(wire::DecodeGive(std::as_bytes(std::span(again))).has_value(),
            "a give that was read can be written");
  }
}

net::Task<void> ReadAll(net::StreamPtr stream) {
  net::FrameReader reader(stream);
  for (;;) {
    const auto frame = co_await reader.Next();
    if (!frame) break;
    RequireSameFrame(*frame);
    std::vector<std::byte> payload(reader.payload_left());
    if (payload.empty()) continue;
    const auto got = co_await reader.ReceivePayload(payload);
    if (!got) co_return;
    ReadPayload(*frame, payload);
  }
}

net::Task<void> GreetIt(net::StreamPtr stream) {
  const auto greeted = co_await net::Greet(stream, kIdentity, kPeer);
  Require(greeted || stream->closed(), "a refused stream is closed");
}

net::Task<void> AnswerIt(net::StreamPtr stream) {
  const auto answered = co_await net::Answer(stream, kIdentity);
  Require(answered || stream->closed(), "a refused stream is closed");
}

}  // namespace

void Frames(Input input) {
  static asio::io_context loop{1};
  FuzzedDataProvider data(input.data(), input.size());
  const auto kind = data.ConsumeIntegralInRange<int>(0, 2);
  const auto piece = data.ConsumeIntegralInRange<std::size_t>(1, 4000);
  auto stream = std::make_shared<ScriptStream>(loop, ScriptOf(data), piece,
                                               [](auto /*head*/, const auto& /*payload*/) {});
  const auto talk = kind == 0 ? ReadAll : kind == 1 ? GreetIt : AnswerIt;
  bool ended = false;
  asio::co_spawn(loop, talk(stream), [&ended](std::exception_ptr failure) {
    Require(!failure, "nothing is thrown");
    ended = true;
  });
  loop.restart();
  loop.run();
  Require(ended, "a conversation ends with its stream");
}

}  // namespace hoplite::fuzz

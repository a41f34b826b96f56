#include <asio/co_spawn.hpp>
#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz/script.h"
#include "fuzz/targets.h"
#include "net/frame_reader.h"
#include "net/handshake.h"

namespace hoplite::fuzz {
namespace {

constexpr net::Identity kIdentity{.cluster = kCluster, .self = kSelf};

// A frame that was read can be written, and is then read as the same.
void RequireSameFrame(const wire::Frame& frame) {
  const std::vector<std::byte> bytes = wire::Encode(frame);
  const auto header = wire::DecodeHeader(std::span(bytes).first<wire::kHeaderBytes>());
  Require(header.has_value(), "a header is read as it is written");
  const auto back = wire::DecodeBody(*header, std::span(bytes).subspan(wire::kHeaderBytes));
  Require(back.has_value() && wire::Encode(*back) == bytes, "a frame is read as it is written");
}

net::Task<void> ReadAll(net::StreamPtr stream) {
  net::FrameReader reader(stream);
  std::vector<std::byte> scratch(5000);
  for (;;) {
    const auto frame = co_await reader.Next();
    if (!frame) break;
    RequireSameFrame(*frame);
    while (reader.payload_left() > 0) {
      const auto into =
          std::span(scratch).first(std::min<std::size_t>(scratch.size(), reader.payload_left()));
      const auto got = co_await reader.ReceivePayload(into);
      if (!got) co_return;
    }
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

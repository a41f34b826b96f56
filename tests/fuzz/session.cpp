// A connection to a shard: bytes that come in any pieces, of frames that may lie about their length.
#include <cstring>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "fuzz/targets.h"
#include "wire/message_frames.h"

namespace hoplite::fuzz {
namespace {

constexpr std::size_t kMost = 200;

struct Heard {
  std::vector<std::string> messages;
  bool noise = false;
};

// What the bytes say, read as a whole.
Heard Whole(const std::string& bytes) {
  Heard heard;
  for (std::size_t at = 0; bytes.size() - at >= wire::kLengthBytes;) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    heard.noise = length > kMost;
    if (heard.noise || bytes.size() - at - wire::kLengthBytes < length) break;
    heard.messages.push_back(bytes.substr(at + wire::kLengthBytes, length));
    at += wire::kLengthBytes + length;
  }
  return heard;
}

std::string BytesOf(FuzzedDataProvider& data) {
  std::string bytes;
  for (int i = data.ConsumeIntegralInRange<int>(0, 12); i > 0; --i) {
    const std::string message = data.ConsumeRandomLengthString(kMost);
    std::uint32_t length = static_cast<std::uint32_t>(message.size());
    if (data.ConsumeIntegralInRange<int>(0, 15) == 15)
      length = data.ConsumeIntegral<std::uint32_t>();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += message;
  }
  return bytes;
}

}  // namespace

void Session(Input input) {
  FuzzedDataProvider data(input.data(), input.size());
  const std::string bytes = BytesOf(data);
  const Heard expected = Whole(bytes);
  wire::MessageFrames frames(kMost);
  Heard heard;
  bool paused = false;
  for (std::size_t at = 0; at <= bytes.size() && !heard.noise;) {
    // When no more decisions are left, the rest comes at once.
    const std::size_t rest = bytes.size() - at;
    const std::size_t piece =
        data.remaining_bytes() == 0 ? rest : data.ConsumeIntegralInRange<std::size_t>(0, rest);
    const std::string arrived = bytes.substr(at, piece);  // gone after its turn
    at += piece;
    frames.Received(arrived);
    paused = data.ConsumeIntegralInRange<int>(0, 3) == 3;
    for (int taken = 0; !paused || taken < 1; ++taken) {
      const auto next = frames.Next();
      heard.noise = !next;
      if (!next || !*next) break;
      heard.messages.emplace_back(**next);
    }
    frames.Keep();
    Require(frames.kept_bytes() <= 2 * bytes.size(), "no more is kept than arrived");
    if (at == bytes.size() && !paused) break;
  }
  Require(heard.messages == expected.messages, "messages come whole and in order");
  Require(heard.noise == expected.noise, "and what is no frame is seen");
}

}  // namespace hoplite::fuzz

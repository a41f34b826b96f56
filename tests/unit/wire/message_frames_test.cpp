#include "wire/message_frames.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "hoplite/v1/directory.pb.h"

namespace hoplite::wire {
namespace {

constexpr std::size_t kMost = 1000;

std::string Frame(const std::string& message) {
  std::string frame;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    frame += static_cast<char>(message.size() >> (8 * i) & 0xff);
  }
  return frame + message;
}

// Every message that the reader gives for these bytes, which come in one piece.
std::vector<std::string> Take(MessageFrames& frames, const std::string& piece) {
  std::vector<std::string> messages;
  frames.Received(piece);
  for (;;) {
    const auto next = frames.Next();
    EXPECT_TRUE(next);
    if (!next || !*next) break;
    messages.emplace_back(**next);
  }
  frames.Keep();
  return messages;
}

TEST(MessageFrames, ReadsWhatIsWritten) {
  v1::NodeMessage message;
  message.set_heartbeat(7);
  std::string out = "before";
  AppendMessageFrame(message, out);
  MessageFrames frames(kMost);
  EXPECT_EQ(Take(frames, out.substr(6)), std::vector{message.SerializeAsString()});
}

TEST(MessageFrames, MessagesComeWholeWhereverTheyAreCut) {
  const std::vector<std::string> sent = {"", "a", std::string(300, 'b'), std::string(kMost, 'c'),
                                         ""};
  std::string bytes;
  for (const std::string& one : sent) bytes += Frame(one);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    MessageFrames frames(kMost);
    std::vector<std::string> heard;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      for (std::string& one : Take(frames, bytes.substr(at, piece)))
        heard.push_back(std::move(one));
    }
    ASSERT_EQ(heard, sent) << "in pieces of " << piece;
    EXPECT_EQ(frames.kept_bytes(), 0u);
  }
}

TEST(MessageFrames, KeepsOnlyWhatIsNotWhole) {
  MessageFrames frames(1_MiB);
  const std::string whole = Frame(std::string(100'000, 'x'));
  EXPECT_EQ(Take(frames, whole + whole.substr(0, 10)).size(), 1u);
  EXPECT_EQ(frames.kept_bytes(), 10u);
  EXPECT_EQ(Take(frames, whole.substr(10)).size(), 1u);
  EXPECT_EQ(frames.kept_bytes(), 0u);
}

// Reading pauses in the middle of what arrived.
TEST(MessageFrames, GivesLaterWhatWasNotTaken) {
  MessageFrames frames(kMost);
  const std::string bytes = Frame("a") + Frame("b") + Frame("c");
  frames.Received(bytes);
  EXPECT_EQ(**frames.Next(), "a");
  frames.Keep();
  EXPECT_EQ(Take(frames, Frame("d")), (std::vector<std::string>{"b", "c", "d"}));
}

TEST(MessageFrames, ALengthAboveTheLimitIsAnError) {
  for (const std::size_t length : {kMost + 1, std::size_t{0x20495250}, std::size_t{0xffffffff}}) {
    MessageFrames frames(kMost);
    std::string bytes;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
      bytes += static_cast<char>(length >> (8 * i) & 0xff);
    }
    for (const char byte : bytes.substr(0, 3)) EXPECT_TRUE(Take(frames, {byte}).empty());
    frames.Received(std::string_view(bytes).substr(3));
    const auto next = frames.Next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, ErrorCode::kProtocol);
    EXPECT_EQ(frames.begun(), bytes);
  }
}

TEST(MessageFrames, TheLimitMayRise) {
  MessageFrames frames(10);
  const std::string bytes = Frame("hello") + Frame(std::string(100, 'x'));
  frames.Received(bytes);
  EXPECT_EQ(**frames.Next(), "hello");
  frames.SetMost(100);
  EXPECT_EQ((*frames.Next())->size(), 100u);
}

}  // namespace
}  // namespace hoplite::wire

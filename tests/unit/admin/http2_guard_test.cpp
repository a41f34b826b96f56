#include "admin/http2_guard.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::admin {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::uint8_t kEnds = 4;

std::string Frame(std::uint8_t type, std::uint8_t flags, std::size_t bytes) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(bytes >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  return frame + std::string("\0\0\0\1", 4) + std::string(bytes, 'x');
}
std::string Data(std::size_t bytes) { return Frame(0, 0, bytes); }
std::string Headers(std::uint8_t flags, std::size_t bytes) { return Frame(1, flags, bytes); }
std::string Settings() { return Frame(4, 0, 0); }
std::string Continuation(std::uint8_t flags, std::size_t bytes) { return Frame(9, flags, bytes); }
std::string Begun() { return std::string(kPreface) + Settings(); }

std::string Refusal(const std::string& bytes) {
  const auto taken = Http2Guard().Take(bytes);
  return taken ? "" : taken.error().message;
}

TEST(Http2Guard, CallsPassWhereverTheyAreCut) {
  const std::string call = Begun() + Headers(0, 100) + Continuation(0, 100) +
                           Continuation(kEnds, 100) + Data(16384) + Headers(kEnds, 16000) + Data(0);
  for (std::size_t cut = 0; cut <= call.size(); cut += 7) {
    Http2Guard guard;
    EXPECT_TRUE(guard.Take(std::string_view(call).substr(0, cut)));
    EXPECT_EQ(guard.begun(), cut >= Begun().size());
    EXPECT_TRUE(guard.Take(std::string_view(call).substr(cut)));
  }
  Http2Guard slow;
  for (const char byte : call) ASSERT_TRUE(slow.Take({&byte, 1}));
}

TEST(Http2Guard, WhatIsNoHttp2IsRefusedAtItsFirstByte) {
  EXPECT_EQ(Refusal("GET / HTTP/1.1\r\n"), "it does not speak HTTP/2");
  EXPECT_EQ(Refusal("x"), "it does not speak HTTP/2");
  EXPECT_EQ(Refusal(std::string(kPreface) + Data(0)), "its first frame is not SETTINGS");
}

TEST(Http2Guard, AHeaderBlockIsBounded) {
  EXPECT_EQ(Refusal(Begun() + Headers(0, 16000) + Continuation(kEnds, 300)), "");
  EXPECT_THAT(Refusal(Begun() + Headers(0, 16000) + Continuation(kEnds, 400)),
              testing::HasSubstr("a header block of more than"));
  std::string empty = Begun() + Headers(0, 0);
  for (int i = 0; i < 1'820; ++i) empty += Continuation(0, 0);
  EXPECT_THAT(Refusal(empty), testing::HasSubstr("a header block of more than"));
}

TEST(Http2Guard, AHeaderBlockIsInOnePiece) {
  EXPECT_EQ(Refusal(Begun() + Headers(0, 1) + Data(1)), "a header block is not in one piece");
  EXPECT_EQ(Refusal(Begun() + Continuation(0, 1)), "a header block is not in one piece");
  EXPECT_EQ(Refusal(Begun() + Headers(kEnds, 1) + Continuation(kEnds, 1)),
            "a header block is not in one piece");
}

TEST(Http2Guard, AFrameIsBounded) {
  EXPECT_THAT(Refusal(Begun() + Data(16385)), testing::HasSubstr("a frame of 16385 bytes"));
}

}  // namespace
}  // namespace hoplite::admin

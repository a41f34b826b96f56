// The admin service beside those who mean it ill: nobody else notices, and it costs next to no memory.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"
#include "integration/admin_fixture.h"
#include "testing/raw_session.h"
#include "testing/resident_memory.h"

namespace hoplite::admin {
namespace {

using test::kMemoryCounts;
using test::RawSession;
using test::ResidentBytes;

using AdminAttack = AdminTest;

const std::string kBegin("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

// gRPC 1.51 would keep them all.
TEST_F(AdminAttack, AFloodOfContinuationFramesDoesNoHarm) {
  Start();
  ASSERT_TRUE(ServiceGoesOn());
  const std::string headers("\0\0\2\1\0\0\0\0\1\x83\x86", 11);
  std::string continuation("\0\3\xe8\x09\0\0\0\0\1", 9);
  continuation += std::string(
                      "\x40\x05"
                      "abcde\x7f\x80") +
                  std::string(991, 'x');
  std::string flood = kBegin + headers;
  while (flood.size() < 1_MiB) flood += continuation;
  const std::uint64_t before = ResidentBytes();
  for (int i = 0; i < 200; ++i) {
    RawSession stranger(admin_->address());
    stranger.SayBytes(flood);
    EXPECT_TRUE(stranger.Ends());
  }
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 32_MiB);
  EXPECT_TRUE(ServiceGoesOn());
}

// One long header, and a thousand bytes that name it again, are 4 MB to who believes them.
TEST_F(AdminAttack, HeadersThatGrowDoNoHarm) {
  Start();
  ASSERT_TRUE(ServiceGoesOn());
  const auto block = [](std::uint8_t stream, const std::string& text) {
    std::string frame{'\0', static_cast<char>(text.size() >> 8), static_cast<char>(text.size())};
    return frame + "\x01\x04" + std::string(3, '\0') + static_cast<char>(stream) + text;
  };
  // A length of 4,000 as HPACK writes it.
  const std::string entry = "\x40\x01x\x7f\xa1\x1e" + std::string(4'000, 'v');
  const std::uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawSession>> bombs;
  for (int i = 0; i < 40; ++i) {
    bombs.push_back(std::make_unique<RawSession>(admin_->address()));
    std::string bytes = kBegin + block(1, "\x83\x86" + entry);
    for (std::uint8_t stream = 3; stream < 120; stream += 2) {
      bytes += block(stream, "\x83\x86" + std::string(10'000, '\xbe'));
    }
    bombs.back()->SayBytes(bytes);
  }
  EXPECT_TRUE(ServiceGoesOn());
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 64_MiB);
}

TEST_F(AdminAttack, AThousandWhoSayNothingCostLittle) {
  Start();
  const std::uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawSession>> silent;
  for (int i = 0; i < 1'000; ++i) {
    silent.push_back(std::make_unique<RawSession>(admin_->address()));
    // Half of a preface.
    if (i % 2 == 0) silent.back()->SayBytes(kBegin.substr(0, 12));
  }
  EXPECT_TRUE(ServiceGoesOn());
  for (const auto& one : silent) EXPECT_TRUE(one->Ends());
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 96_MiB);
}

TEST_F(AdminAttack, HalfRequestsLeaveRoomForOthers) {
  Start();
  ASSERT_TRUE(ServiceGoesOn());
  const std::string half = kBegin + std::string("\0\0\2\1\0\0\0\0\1\x83\x86", 11);
  std::vector<std::unique_ptr<RawSession>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<RawSession>(admin_->address()));
    slow.back()->SayBytes(half);
  }
  EXPECT_TRUE(ServiceGoesOn());
}

// A call of Status as bytes of HTTP/2, without Huffman codes.
std::string StatusCall(std::uint32_t stream) {
  const auto text = [](std::string_view value) {
    return std::string(1, static_cast<char>(value.size())) + std::string(value);
  };
  const std::string headers = "\x83\x86\x04" + text("/hoplite.admin.v1.Admin/Status") + "\x01" +
                              text("shard") + "\x0f\x10" + text("application/grpc") +
                              std::string(1, '\0') + text("te") + text("trailers");
  const auto frame = [&](char type, char flags, const std::string& payload) {
    std::string bytes{'\0', '\0', static_cast<char>(payload.size()), type, flags, '\0', '\0'};
    bytes += {static_cast<char>(stream >> 8), static_cast<char>(stream & 0xff)};
    return bytes + payload;
  };
  return frame(1, 4, headers) + frame(0, 1, std::string(5, '\0'));
}

TEST_F(AdminAttack, AnswersThatNobodyTakesAreBounded) {
  Start();
  Join();
  AnnounceAThousand();
  const std::uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawSession>> lazy;
  for (int connection = 0; connection < 10; ++connection) {
    lazy.push_back(std::make_unique<RawSession>(admin_->address()));
    std::string calls = kBegin;
    for (std::uint32_t stream = 1; stream < 60; stream += 2) calls += StatusCall(stream);
    lazy.back()->SayBytes(calls);
  }
  v1::InfoResponse response;
  EXPECT_TRUE(WentWell(Info({std::string(20, 'i')}, response)));
  EXPECT_TRUE(ServiceGoesOn());
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 256_MiB);
}

TEST_F(AdminAttack, DescriptorsThatRunOutStopNobodyWhoIsThere) {
  Start();
  ASSERT_TRUE(ServiceGoesOn());
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few{.rlim_cur = 400, .rlim_max = limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> taken;
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken.push_back(fd);
  EXPECT_TRUE(ServiceGoesOn());
  // For its two ends; gRPC's end needs two more.
  for (int ends = 0; ends < 2; ++ends) {
    ::close(taken.back());
    taken.pop_back();
  }
  RawSession stranger(admin_->address());
  stranger.SayBytes(kBegin);
  EXPECT_TRUE(stranger.Ends());
  EXPECT_TRUE(ServiceGoesOn());
  for (const int fd : taken) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_TRUE(ServiceGoesOn());
  const auto other = NewStub();
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  v1::StatusResponse response;
  EXPECT_TRUE(other->Status(&context, {}, &response).ok());
}

}  // namespace
}  // namespace hoplite::admin

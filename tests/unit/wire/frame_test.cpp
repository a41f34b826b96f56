#include "wire/frame.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::wire {
namespace {

using ::testing::HasSubstr;

Result<Frame> Decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) {
    return std::unexpected(Error(ErrorCode::kProtocol, "no header"));
  }
  const auto header = DecodeHeader(bytes.first<kHeaderBytes>());
  if (!header) return std::unexpected(header.error());
  if (bytes.size() != kHeaderBytes + header->body_bytes) {
    return std::unexpected(Error(ErrorCode::kProtocol, "no whole body"));
  }
  return DecodeBody(*header, bytes.subspan(kHeaderBytes));
}

Fetch SomeFetch() {
  Fetch fetch;
  fetch.object = ObjectId::FromName("x");
  fetch.version = Version{{11, 12}};
  fetch.grant = GrantId{{21, 22}};
  fetch.slot = 3;
  fetch.stripes = 0b101;
  fetch.credit_bytes = 1 << 20;
  fetch.next = {5, 0, 7};
  fetch.equality_ok = true;
  return fetch;
}

Fetch SomeOrderedFetch() {
  Fetch fetch = SomeFetch();
  fetch.equality_ok = false;
  fetch.ordered = true;
  return fetch;
}

Data SomeData(std::uint32_t blocks) {
  Data data;
  data.stripe = 1;
  data.first_block = 40;
  data.block_count = blocks;
  data.payload_bytes = 16384 * (blocks - 1) + 1;
  for (std::uint32_t i = 0; i < blocks; ++i) data.checksums[i] = 0x0123456789abcdefu * (i + 1);
  return data;
}

PeerWelcome SomeRefusal() {
  PeerWelcome welcome(7, NodeId{8});
  welcome.refusal = Refusal::kCluster;
  welcome.text = "another cluster";
  return welcome;
}

std::vector<Frame> OneOfEach() {
  return {PeerHello(7, NodeId{8}, NodeId{9}),
          PeerWelcome(7, NodeId{8}),
          SomeRefusal(),
          SomeFetch(),
          SomeOrderedFetch(),
          SomeData(1),
          SomeData(kMaxPayloadBlocks),
          Credit{std::uint64_t{1} << 40},
          KeepAlive{1200},
          End{EndReason::kMoved},
          End{EndReason::kFinal, 0b101},
          Done{},
          Give{kMaxGiveBytes, 0x0123456789abcdef},
          TraceAsk{},
          Trace{0},
          Trace{kMaxTraceBytes},
          CheckAsk{},
          CheckAsk{NodeId{9}, "[::1]:7001"},
          Check{0},
          Check{kMaxCheckBytes}};
}

TEST(Frame, ComesBackAsItWent) {
  for (const Frame& frame : OneOfEach()) {
    const auto bytes = Encode(frame);
    EXPECT_LE(bytes.size(), kHeaderBytes + kMaxBodyBytes);
    const auto back = Decode(bytes);
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(*back, frame) << Name(KindOf(frame));
  }
}

// The layout that proto/README.md promises to other implementations.
TEST(Frame, BytesAreAsDocumented) {
  const auto bytes = Encode(PeerHello(0x1122334455667788u, NodeId{2}, NodeId{3}));
  const std::vector<std::uint8_t> expected = {
      1,    0,    0,    0, 30, 0, 0, 0, 'H', 'P', 'L', 'T', 5, 0, 0x88, 0x77, 0x66, 0x55, 0x44,
      0x33, 0x22, 0x11, 2, 0,  0, 0, 0, 0,   0,   0,   3,   0, 0, 0,    0,    0,    0,    0};
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(std::to_integer<std::uint8_t>(bytes[i]), expected[i]) << i;
  }
  const auto fetch = Encode(SomeFetch());
  EXPECT_EQ(std::to_integer<int>(fetch[1]), 1) << "equality_ok is the first flag";
  EXPECT_EQ(std::to_integer<int>(Encode(SomeOrderedFetch())[1]), 2) << "ordered is the second";
  EXPECT_EQ(fetch.size(), kHeaderBytes + 72 + 12);
  const auto end = Encode(End{EndReason::kFinal, 0b101});
  ASSERT_EQ(end.size(), kHeaderBytes + 9);
  EXPECT_EQ(std::to_integer<int>(end[kHeaderBytes]), 1) << "the reason, then the mask";
  EXPECT_EQ(std::to_integer<int>(end[kHeaderBytes + 1]), 0b101);
}

TEST(Frame, AnyShorterOneIsRefused) {
  for (const Frame& frame : OneOfEach()) {
    const auto bytes = Encode(frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(Decode(std::span(bytes).first(size)));
    }
  }
}

// A header whose length agrees with a cut body: the body itself must be noticed to be too short.
TEST(Frame, BodyOfAnotherSizeIsRefused) {
  for (const Frame& frame : OneOfEach()) {
    const bool ends_in_text =
        std::holds_alternative<PeerWelcome>(frame) || std::holds_alternative<CheckAsk>(frame);
    for (std::size_t size = 0; size <= 4096; ++size) {
      auto bytes = Encode(frame);
      if (bytes.size() == kHeaderBytes + size) continue;
      bytes.resize(kHeaderBytes + size);
      for (int i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::byte>(size >> (8 * i));
      const auto back = Decode(bytes);
      // What may vary in size is a text and the number of stripes.
      const bool may_vary = ends_in_text || std::holds_alternative<Fetch>(frame);
      EXPECT_TRUE(!back || (may_vary && *back != frame)) << Name(KindOf(frame)) << ' ' << size;
    }
  }
}

TEST(Frame, HugeLengthsAreRefusedInTheHeader) {
  for (const Frame& frame : OneOfEach()) {
    auto bytes = Encode(frame);
    for (const std::uint32_t length : {0xffffffffu, 0x80000000u, 65536u, 1025u}) {
      for (int i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::byte>(length >> (8 * i));
      EXPECT_FALSE(DecodeHeader(std::span<const std::byte>(bytes).first<kHeaderBytes>()));
    }
  }
}

TEST(Frame, RandomBytesNeverCrashAndDecodedOnesAreWithinBounds) {
  std::mt19937_64 random(20);
  int decoded = 0;
  for (int round = 0; round < 50000; ++round) {
    const auto frames = OneOfEach();
    auto bytes = Encode(frames[random() % frames.size()]);
    const int changes = static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    const auto back = Decode(bytes);
    if (!back) continue;
    ++decoded;
    if (const auto* data = std::get_if<Data>(&*back)) {
      ASSERT_LE(data->payload_bytes, kMaxPayloadBytes);
      ASSERT_GE(data->block_count, 1u);
      ASSERT_LE(data->block_count, kMaxPayloadBlocks);
      ASSERT_LT(data->stripe, kMaxStripes);
    }
    if (const auto* fetch = std::get_if<Fetch>(&*back)) {
      ASSERT_LE(fetch->next.size(), std::size_t{kMaxStripes});
      ASSERT_NE(fetch->stripes, 0u);
    }
  }
  EXPECT_GT(decoded, 1000);
}

TEST(Frame, UnknownKindFlagOrReservedBitIsRefused) {
  for (const auto& [at, value] : {std::pair{0, 0}, {0, 9}, {0, 255}, {1, 1}, {2, 1}, {3, 1}}) {
    auto bytes = Encode(Done{});
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(Decode(bytes)) << at << ' ' << value;
  }
}

TEST(Frame, WrongMagicIsNamed) {
  auto bytes = Encode(PeerHello(1, NodeId{2}, NodeId{3}));
  bytes[kHeaderBytes] = std::byte{'X'};
  const auto back = Decode(bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(back.error().message, HasSubstr("magic"));
}

// This way a newer peer can be refused in words.
TEST(Frame, HelloOfAnotherVersionIsReadAsFarAsItsVersion) {
  PeerHello hello(1, NodeId{2}, NodeId{3});
  hello.protocol_version = 9;
  auto bytes = Encode(hello);
  bytes.resize(bytes.size() + 50);
  bytes[4] = static_cast<std::byte>(bytes.size() - kHeaderBytes);
  const auto back = Decode(bytes);
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(std::get<PeerHello>(*back).protocol_version, 9);
  EXPECT_EQ(std::get<PeerHello>(*back).cluster, 0u);
}

TEST(Frame, FetchMustNameStripesThatExist) {
  Fetch fetch = SomeFetch();
  fetch.stripes = 0;
  EXPECT_FALSE(Decode(Encode(fetch)));
  fetch.stripes = 0b1000;
  EXPECT_FALSE(Decode(Encode(fetch)));
  fetch.stripes = ~std::uint64_t{0};
  fetch.next = StripeMarks(64, 1);
  EXPECT_TRUE(Decode(Encode(fetch)));
}

TEST(Frame, StripesEndIfAndOnlyIfTheyAreFinal) {
  EXPECT_FALSE(Decode(Encode(End{EndReason::kFinal})));
  EXPECT_TRUE(Decode(Encode(End{EndReason::kFinal, ~StripeMask{0}})));
  EXPECT_FALSE(Decode(Encode(End{EndReason::kMoved, 1})));
}

// Otherwise good bytes would be taken for those of another place.
TEST(Frame, ADamagedPlaceIsNoticedByTheChecksums) {
  const Data data = SomeData(3);
  const auto bytes = Encode(data);
  for (const std::size_t damaged : {kHeaderBytes, kHeaderBytes + 4}) {  // stripe, first_block
    auto other = bytes;
    other[damaged] ^= std::byte{1};
    const auto back = Decode(other);
    ASSERT_TRUE(back) << back.error().ToString();
    const auto& read = std::get<Data>(*back);
    for (std::uint32_t i = 0; i < data.block_count; ++i) {
      EXPECT_NE(read.checksums[i], data.checksums[i]) << damaged << ' ' << i;
    }
  }
}

TEST(Frame, DataMustBeOnePieceWithinBounds) {
  Data data = SomeData(2);
  data.payload_bytes = kMaxPayloadBytes + 1;
  EXPECT_FALSE(Decode(Encode(data)));
  data.payload_bytes = 1;  // two blocks of one byte
  EXPECT_FALSE(Decode(Encode(data)));
  data = SomeData(2);
  data.stripe = kMaxStripes;
  EXPECT_FALSE(Decode(Encode(data)));
  data = SomeData(2);
  data.first_block = 0xffffffffu;
  EXPECT_FALSE(Decode(Encode(data)));
}

TEST(Frame, ATraceIsBounded) { EXPECT_FALSE(Decode(Encode(Trace{kMaxTraceBytes + 1}))); }

TEST(Frame, AGiveHasBytesButNotManyMore) {
  EXPECT_FALSE(Decode(Encode(Give{0, 1})));
  EXPECT_FALSE(Decode(Encode(Give{kMaxGiveBytes + 1, 1})));
}

TEST(Frame, LongRefusalIsCut) {
  PeerWelcome welcome = SomeRefusal();
  welcome.text.assign(4000, 'x');
  const auto back = Decode(Encode(welcome));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<PeerWelcome>(*back).text.size(), kMaxRefusalText);
}

}  // namespace
}  // namespace hoplite::wire

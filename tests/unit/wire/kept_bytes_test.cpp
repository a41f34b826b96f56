// Nodes and shards of several releases talk to each other: the bytes of words stay as they were.
#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "wire/directory_messages.h"

namespace hoplite::wire {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the words written

const ObjectId kKept = ObjectId::FromName("kept");
const Version kNinth{{.incarnation = 7, .sequence = 9}};
const Layout kSmall = Layout::For(3);
const NodeInfo kPeer{NodeId{11}, "n11", "[::1]:80", "zone/rack"};

std::string HexOf(const auto& own) {
  std::string hex;
  for (const unsigned char byte : ToProto(own).SerializeAsString())
    hex += fmt::format("{:02x}", byte);
  return hex;
}

TEST(KeptBytes, OfEvents) {
  EXPECT_EQ(HexOf(NodeEvent{Create{.object = kKept,
                                   .layout = kSmall,
                                   .metadata = "f4",
                                   .inline_bytes = std::make_shared<const std::string>("abc"),
                                   .attempt = 7,
                                   .owned = true,
                                   .number = 8,
                                   .grace = std::chrono::seconds(2)}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a11a200a0b0803108020188080012001120266341a"
            "036162632007280138084080897a");
  EXPECT_EQ(HexOf(NodeEvent{Held{.object = kKept,
                                 .version = kNinth,
                                 .layout = kSmall,
                                 .metadata = "f4",
                                 .marks = {0},
                                 .produces = 1,
                                 .primary = true,
                                 .upstreams = {{NodeId{3}, GrantId{kNinth}, 1}},
                                 .ever_owned = true}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a112040807100982013b0a0b080310802018808001"
            "2001120266341a0100300148015101000000000000005a18090300000000000000120408071009190100"
            "000000000000");
  EXPECT_EQ(HexOf(NodeEvent{RegisterUse{kKept,
                                        9,
                                        true,
                                        {},
                                        RegisterContents{kNinth, {}, "v", {NodeId{3}, 7}},
                                        RegisterCall{4, CompareAndSet{kNinth, "w", true}}}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a19a02290809100122140a04080710091a01762103"
            "0000000000000028072804320b0a04080710091201771801");
}

TEST(KeptBytes, OfActions) {
  EXPECT_EQ(HexOf(NodeAction{SlotAssigned{kKept,
                                          kNinth,
                                          {2, {1, 7}, 0b11, 3, NodeId{11}, {{kKept, kNinth}}},
                                          kSmall,
                                          Fold{Op::kXor, DType::kUint8, 3, 2},
                                          "f4"}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a11204080710098a01550a38080212020107180321"
            "0b000000000000002a1c0a1408e76caad90e9fa0549fa71b4b204507b4e546a112040807100931030000"
            "0000000000120b08031080201880800120011a08080710051803200222026634");
  EXPECT_EQ(HexOf(NodeAction{Grant{kKept, kNinth, GrantId{kNinth}, kPeer, 3, true, {}}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a11204080710093a360a04080710091223090b0000"
            "000000000012036e31311a085b3a3a315d3a383022097a6f6e652f7261636b1903000000000000002001");
  EXPECT_EQ(HexOf(NodeAction{TargetAborted{kKept, {}, ErrorCode::kCancelled, "no", 7}}),
            "0a1408e76caad90e9fa0549fa71b4b204507b4e546a11200a20108080612026e6f1807");
}

}  // namespace
}  // namespace hoplite::wire

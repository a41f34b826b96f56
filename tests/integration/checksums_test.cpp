// Checksums that a client brings with what it wrote, in its own words to a real node.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/checksum.h"
#include "base/units.h"
#include "testing/cluster.h"
#include "testing/raw_client.h"

namespace hoplite {
namespace {

using test::RawClient;
using testing::Cluster;
using testing::Pattern;
using v1::local::Answer;
using v1::local::Request;

constexpr std::uint64_t kWritten = 1_MiB + 1;

class Checksums : public ::testing::Test {
 protected:
  Checksums() : raw_(cluster_.node(0).AttachLocal().value()) {
    raw_.Hello(wire::kLocalProtocolVersion, true);
    EXPECT_TRUE(raw_.Receive()->has_attached());
    Request create;
    create.set_id(kDraft);
    create.mutable_create()->set_object(std::string(id_.view()));
    create.mutable_create()->set_size(kWritten);
    raw_.Send(create);
    ready_ = raw_.Receive()->draft_ready();
    const auto room = cluster_.node(0).segment()->bytes().subspan(ready_.offset(), kWritten);
    std::ranges::copy(std::as_bytes(std::span(bytes_)), room.begin());
  }

  // The right checksums of the blocks of [from, to), of which the last may be short.
  std::vector<std::uint64_t> Right(std::uint64_t from, std::uint64_t to) const {
    std::vector<std::uint64_t> right;
    for (std::uint64_t at = from; at < to; at += ready_.block_bytes()) {
      const auto end = std::min<std::uint64_t>(at + ready_.block_bytes(), to);
      right.push_back(BlockChecksum(std::as_bytes(std::span(bytes_)).subspan(at, end - at)));
    }
    return right;
  }
  void Advance(std::uint64_t prefix, const std::vector<std::uint64_t>& checksums) {
    Request advance;
    advance.mutable_advance()->set_draft(kDraft);
    advance.mutable_advance()->set_prefix(prefix);
    advance.mutable_advance()->mutable_checksums()->Assign(checksums.begin(), checksums.end());
    raw_.Send(advance);
  }
  void Seal() {
    Request seal;
    seal.set_id(kDraft + 1);
    seal.mutable_seal()->set_draft(kDraft);
    raw_.Send(seal);
  }
  void ExpectAtTheOtherNode() {
    const auto got = cluster_.client(1).Get(id_, testing::kSoon);
    ASSERT_TRUE(got) << got.error().ToString();
    EXPECT_EQ(testing::Text(*got), bytes_);
  }

  static constexpr std::uint64_t kDraft = 7;
  Cluster cluster_{{.nodes = 2}};
  RawClient raw_;
  const ObjectId id_ = ObjectId::Random();
  const std::string bytes_ = Pattern(kWritten, 3);
  v1::local::DraftReady ready_;
};

TEST_F(Checksums, AreTakenInPieces) {
  const std::uint64_t first = 5 * std::uint64_t{ready_.block_bytes()};
  Advance(first, Right(0, first));
  Advance(kWritten, Right(first, kWritten));
  Seal();
  EXPECT_TRUE(raw_.Receive()->has_done());
  ExpectAtTheOtherNode();
}

// Once some are missing, the node computes all further ones itself.
TEST_F(Checksums, MayComeForSomeBlocksOnly) {
  const std::uint64_t first = 5 * std::uint64_t{ready_.block_bytes()};
  Advance(first + 1, {});
  Advance(kWritten, Right(first, kWritten));
  Seal();
  EXPECT_TRUE(raw_.Receive()->has_done());
  ExpectAtTheOtherNode();
}

TEST_F(Checksums, InAnotherNumberThanBlocksAreRefused) {
  Advance(kWritten, {1, 2, 3});
  const std::optional<Answer> told = raw_.Receive();
  ASSERT_TRUE(told && told->has_draft_failed());
  EXPECT_EQ(told->draft_failed().code(), static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
  EXPECT_THAT(told->draft_failed().message(),
              ::testing::HasSubstr(std::to_string(Right(0, kWritten).size()) + " blocks with 3"));
}

}  // namespace
}  // namespace hoplite

#include <cstring>

#include <fuzzer/FuzzedDataProvider.h>

#include "base/checksum.h"
#include "fuzz/node_parts.h"
#include "fuzz/targets.h"
#include "node/reduce/accumulator.h"
#include "node/streams/receive_lane.h"

namespace hoplite::fuzz {
namespace {

using protocol::Outcome;

constexpr Layout kLayout{
    .size_bytes = 50'000, .block_bytes = 4096, .run_bytes = 8192, .stripe_count = 2};

// The object's bytes as its source has them.
std::vector<std::byte> Truth() {
  std::vector<std::byte> bytes(kLayout.size_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + i / kLayout.block_bytes);
  }
  return bytes;
}

// What a source sends: mostly the next blocks of a stripe, mostly right.
class Blocks {
 public:
  void Append(FuzzedDataProvider& data, std::vector<std::byte>& script) {
    const auto stripe = data.ConsumeIntegralInRange<std::uint32_t>(0, kLayout.stripe_count - 1);
    const std::uint32_t left = kLayout.stripe_block_count(stripe) - next_[stripe];
    if (left == 0) return AppendRare(data, script);
    const ByteRange range =
        kLayout.piece(stripe, next_[stripe], data.ConsumeIntegralInRange<std::uint32_t>(1, 2));
    wire::Data piece;
    piece.stripe = stripe;
    piece.first_block = next_[stripe];
    piece.payload_bytes = static_cast<std::uint32_t>(range.size());
    piece.block_count =
        static_cast<std::uint32_t>((range.size() + kLayout.block_bytes - 1) / kLayout.block_bytes);
    const std::uint64_t first = kLayout.block_at(stripe, next_[stripe]);
    for (std::uint32_t i = 0; i < piece.block_count; ++i) {
      const ByteRange block = kLayout.block_range(first + i);
      piece.checksums[i] = BlockChecksum(std::span(truth).subspan(block.begin, block.size()));
    }
    next_[stripe] += piece.block_count;
    Spoil(data, piece);
    wire::Append(script, piece);
    const auto payload = std::span(truth).subspan(range.begin, range.size());
    const std::size_t start = script.size();
    script.insert(script.end(), payload.begin(), payload.end());
    if (data.ConsumeIntegralInRange<int>(0, 15) == 15) {
      script[data.ConsumeIntegralInRange<std::size_t>(start, script.size() - 1)] ^= std::byte{1};
    }
  }

  static const std::vector<std::byte> truth;

 private:
  static void Spoil(FuzzedDataProvider& data, wire::Data& piece) {
    switch (data.ConsumeIntegralInRange<int>(0, 31)) {
      case 31:
        // A stripe that the object lacks. (Bytes that a source gives for another existing place,
        // checksum and all, can't be told from right ones.)
        piece.stripe =
            data.ConsumeIntegralInRange<std::uint32_t>(kLayout.stripe_count, kMaxStripes - 1);
        return;
      case 30:
        piece.first_block = data.ConsumeIntegral<std::uint16_t>();
        return;
      case 29:
        piece.block_count = data.ConsumeIntegralInRange<std::uint32_t>(1, wire::kMaxPayloadBlocks);
        return;
      case 28:
        piece.payload_bytes = data.ConsumeIntegral<std::uint32_t>();
        return;
      case 27:
        piece.checksums[0] = data.ConsumeIntegral<std::uint64_t>();
        return;
      default:
        return;
    }
  }

  std::array<std::uint32_t, 2> next_{};
};
const std::vector<std::byte> Blocks::truth = Truth();

std::vector<std::byte> SourceScript(FuzzedDataProvider& data) {
  std::vector<std::byte> script;
  if (data.ConsumeIntegralInRange<int>(0, 7) > 0) {
    wire::Append(script, wire::PeerWelcome(kCluster, kPeer));
  }
  Blocks blocks;
  const std::vector<std::byte> rest =
      ScriptOf(data, [&blocks](auto& more, auto& to) { blocks.Append(more, to); });
  script.insert(script.end(), rest.begin(), rest.end());
  return script;
}

// All blocks below a mark are the source's, whatever else the source said.
void RequireTruth(const store::Copy& copy) {
  for (std::uint32_t s = 0; s < kLayout.stripe_count; ++s) {
    for (std::uint32_t n = 0; n < copy.mark(s); ++n) {
      const ByteRange block = kLayout.block_range(kLayout.block_at(s, n));
      const auto right = std::span(Blocks::truth).subspan(block.begin, block.size());
      const auto got = copy.bytes().subspan(block.begin, block.size());
      Require(std::memcmp(got.data(), right.data(), got.size()) == 0,
              "blocks below a mark are verified");
    }
  }
}

}  // namespace

void Lane(Input input) {
  static NodeParts& parts = *new NodeParts;
  FuzzedDataProvider data(input.data(), input.size());
  const auto piece = data.ConsumeIntegralInRange<std::size_t>(1, 9000);
  const bool folds = data.ConsumeBool();
  const auto stripes = data.ConsumeIntegralInRange<StripeMask>(1, kLayout.all_stripes());
  parts.next_stream = std::make_shared<ScriptStream>(parts.runtime.data(0), SourceScript(data),
                                                     piece, [](auto, const auto&) {});
  const store::CopyPtr copy =
      parts.store.Create(Object(0), kLayout, "", store::CopyKind::kTransient).value();
  std::shared_ptr<node::ReceiveSink> sink = std::make_shared<node::CopySink>(copy);
  if (folds) {
    auto into = std::make_shared<node::Accumulator>(copy, protocol::Fold{Op::kSum, DType::kUint8},
                                                    std::vector<store::CopyPtr>(), 1,
                                                    /*root=*/true);
    sink = std::make_shared<node::FoldSink>(std::move(into), 0, kLayout.empty_marks());
  }
  protocol::Grant grant;
  grant.object = Object(0);
  grant.version = kVersion;
  grant.source = {kPeer, "source", "somewhere:1"};
  grant.stripes = stripes;
  int ends = 0;
  Outcome outcome{};
  auto lane = std::make_shared<node::ReceiveLane>(parts.context, parts.data_plane,
                                                  parts.data_plane.LoopAt(0), sink, grant, stripes,
                                                  0, [&](const node::LaneEnd& end) {
                                                    ++ends;
                                                    outcome = end.outcome;
                                                  });
  lane->Start();
  parts.Turn();
  Require(ends == 1, "a lane ends once, with its stream");
  Require(parts.runtime.WaitForTasks(Duration(0)), "and leaves nothing under way");
  RequireTruth(*copy);
  for (std::uint32_t s = 0; s < kLayout.stripe_count; ++s) {
    const bool wanted = (stripes >> s & 1) != 0;
    Require(wanted || copy->mark(s) == 0, "stripes that were not asked for stay as they were");
    Require(!wanted || outcome != Outcome::kDone || copy->mark(s) == kLayout.stripe_block_count(s),
            "what is done is complete");
  }
}

}  // namespace hoplite::fuzz

#include <variant>

#include <fuzzer/FuzzedDataProvider.h>

#include "base/checksum.h"
#include "fuzz/node_parts.h"
#include "fuzz/targets.h"
#include "node/serve/serve.h"
#include "wire/check_up.h"
#include "wire/trace.h"

namespace hoplite::fuzz {
namespace {

constexpr std::uint32_t kBlock = 4096;

// A node with a complete copy in one stripe, one in two of which the second is final, and an empty
// one.
struct Source : NodeParts {
  Source() {
    Add(0, {.size_bytes = 9000, .block_bytes = kBlock, .run_bytes = kBlock, .stripe_count = 1});
    Add(1, {.size_bytes = 30'000, .block_bytes = kBlock, .run_bytes = kBlock, .stripe_count = 2});
    Add(2, {.size_bytes = 5000, .block_bytes = kBlock, .run_bytes = kBlock, .stripe_count = 1});
    Advance(0, 0, 3);
    store.Find(Object(0))->Seal();
    Advance(1, 0, 2);
    Advance(1, 1, 4);
    store.Find(Object(1))->Seal(0b10);
  }
  void Add(std::size_t i, const Layout& layout) {
    store.Create(Object(i), layout, "", store::CopyKind::kRelayed).value()->set_version(kVersion);
  }
  void Advance(std::size_t i, std::uint32_t stripe, std::uint32_t mark) {
    const store::CopyPtr copy = store.Find(Object(i));
    for (std::uint32_t n = 0; n < mark; ++n) {
      const std::uint64_t block = copy->layout().block_at(stripe, n);
      const ByteRange range = copy->layout().block_range(block);
      const auto bytes = copy->bytes().subspan(range.begin, range.size());
      std::ranges::fill(bytes, static_cast<std::byte>(16 * i + block));
      copy->SetChecksum(block, BlockChecksum(bytes));
    }
    copy->Advance(stripe, mark);
  }

  // Every byte that leaves lies below a mark, and is announced as what it is.
  void CheckSent(std::span<const std::byte> head, const net::Payload& payload) const {
    const auto header = wire::DecodeHeader(head.first<wire::kHeaderBytes>());
    Require(header.has_value(), "what is sent is a frame");
    const auto frame = wire::DecodeBody(*header, head.subspan(wire::kHeaderBytes));
    Require(frame.has_value(), "what is sent is a whole frame");
    const auto* end = std::get_if<wire::End>(&*frame);
    Require(end == nullptr || end->stripes <= 0b10, "only what is final ends, one of each copy");
    const auto* piece = std::get_if<wire::Data>(&*frame);
    if (const auto* trace = std::get_if<wire::Trace>(&*frame)) {
      Require(trace->payload_bytes == payload.bytes.size() && wire::DecodeTrace(payload.bytes),
              "a trace is whole");
      return;
    }
    if (const auto* check = std::get_if<wire::Check>(&*frame)) {
      Require(check->payload_bytes == payload.bytes.size() && wire::DecodeCheckUp(payload.bytes),
              "a check-up is whole");
      return;
    }
    Require((piece != nullptr) == !payload.bytes.empty(), "a payload belongs to a Data frame");
    if (piece == nullptr) return;
    const std::byte* segment = context.store.segment().bytes().data();
    for (const store::CopyPtr& copy : store.List()) {
      const auto at = static_cast<std::uint64_t>(payload.bytes.data() - segment);
      if (at < copy->segment_offset() || at >= copy->segment_offset() + copy->bytes().size()) {
        continue;
      }
      const Layout& layout = copy->layout();
      Require(piece->stripe < layout.stripe_count &&
                  piece->first_block + piece->block_count <= copy->mark(piece->stripe),
              "no byte above a mark is sent");
      const ByteRange range = layout.piece(piece->stripe, piece->first_block, piece->block_count);
      Require(range.begin == at - copy->segment_offset() && range.size() == payload.bytes.size(),
              "the bytes are those that the frame names");
      return;
    }
    Require(false, "what is sent lies in a copy");
  }

  node::Gives gives{context, data_plane};
  node::Server server{context, data_plane, gives};
};

}  // namespace

void Server(Input input) {
  static Source& source = *new Source;
  FuzzedDataProvider data(input.data(), input.size());
  const auto piece = data.ConsumeIntegralInRange<std::size_t>(1, 4000);
  std::vector<std::byte> script;
  if (data.ConsumeIntegralInRange<int>(0, 3) > 0) {
    wire::Append(script, wire::PeerHello(kCluster, kPeer, kSelf));
  }
  const std::vector<std::byte> rest = ScriptOf(data);
  script.insert(script.end(), rest.begin(), rest.end());
  const auto stream = std::make_shared<ScriptStream>(
      source.runtime.data(0), std::move(script), piece,
      [](std::span<const std::byte> head, const net::Payload& payload) {
        source.CheckSent(head, payload);
      });
  source.server.Accept(source.data_plane.LoopAt(0), stream);
  source.Turn();
  Require(source.runtime.WaitForTasks(Duration(0)), "a conversation ends with its stream");
  for (std::size_t i = 0; i <= kObjects; ++i) {
    const node::EntryPtr entry = source.table.Find(Object(i));
    Require(!entry || entry->outgoing() == 0, "streams that end are counted off");
  }
}

}  // namespace hoplite::fuzz

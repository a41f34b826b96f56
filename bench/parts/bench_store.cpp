// The store: creating and removing copies, a put against memcpy into the same kind of region, and
// checksums.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/checksum.h"
#include "base/units.h"
#include "store/object_store.h"

namespace hoplite::store {
namespace {

ObjectId NumberedId(std::uint64_t number) {
  std::array<std::uint8_t, ObjectId::kBytes> bytes{};
  std::memcpy(bytes.data(), &number, sizeof number);
  return ObjectId(bytes);
}

[[noreturn]] void GiveUp(const Error& error) {
  std::fprintf(stderr, "%s\n", error.ToString().c_str());
  std::exit(1);
}

// All of it is reserved: nobody has to wait for room.
ObjectStore WarmStore(std::uint64_t bytes) {
  auto segment = CreateMemfdSegment(bytes);
  if (!segment) GiveUp(segment.error());
  while ((*segment)->reserved_bytes() < (*segment)->bytes().size()) {
    if (const Result<void> more = (*segment)->ReserveMore(); !more) GiveUp(more.error());
  }
  return ObjectStore(std::move(*segment), [] {});
}

// `listed` other copies are there, so that the books have a realistic size.
void CreateAndRemove(benchmark::State& state) {
  const auto listed = static_cast<std::uint64_t>(state.range(0));
  ObjectStore store(CreateHeapSegment(1_GiB), [] {});
  const Layout layout = Layout::For(1_KiB);
  std::uint64_t next = 0;
  for (; next < listed; ++next) {
    benchmark::DoNotOptimize(store.Create(NumberedId(next), layout, "", CopyKind::kRelayed));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(store.Create(NumberedId(next), layout, "", CopyKind::kRelayed));
    store.Remove(NumberedId(next - listed));
    ++next;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(CreateAndRemove)->Arg(100)->Arg(100000);

// What a put does with the caller's bytes: copy, checksum and publish block by block.
void CopyInto(Copy& copy, const std::byte* from) {
  const Layout& layout = copy.layout();
  for (std::uint64_t block = 0; block < layout.block_count(); ++block) {
    const ByteRange range = layout.block_range(block);
    const std::span<std::byte> to = copy.bytes().subspan(range.begin, range.size());
    std::memcpy(to.data(), from + range.begin, to.size());
    copy.SetChecksum(block, BlockChecksum(to));
    copy.Advance(layout.stripe_of(block), layout.index_in_stripe(block) + 1);
  }
  copy.Seal();
}

void PutCopy(benchmark::State& state) {
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  ObjectStore store = WarmStore(bytes);
  const std::vector<std::byte> source(bytes, std::byte{1});
  const ObjectId id = NumberedId(1);
  for (auto _ : state) {
    CopyInto(**store.Create(id, Layout::For(bytes), "", CopyKind::kPrimary), source.data());
    store.Remove(id);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}
BENCHMARK(PutCopy)->Arg(1_MiB)->Arg(256_MiB)->UseRealTime();

void MemcpyIntoSegment(benchmark::State& state) {
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  ObjectStore store = WarmStore(bytes);
  const std::vector<std::byte> source(bytes, std::byte{1});
  for (auto _ : state) {
    std::memcpy(store.segment().bytes().data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}
BENCHMARK(MemcpyIntoSegment)->Arg(1_MiB)->Arg(256_MiB)->UseRealTime();

void Checksum(benchmark::State& state) {
  const std::vector<std::byte> block(static_cast<std::size_t>(state.range(0)), std::byte{3});
  for (auto _ : state) benchmark::DoNotOptimize(BlockChecksum(block));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * block.size()));
}
BENCHMARK(Checksum)->Arg(1_KiB)->Arg(16_KiB)->Arg(64_KiB);

}  // namespace
}  // namespace hoplite::store

// Folding beside memcpy. Bytes a second are those read and written: three streams of a fold, two of
// memcpy. "InPlace" folds into its first operand, as an accumulator is.
#include <cstdint>
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/units.h"
#include "reduce/fold.h"

namespace hoplite::reduce {
namespace {

// One size that lies in the processor's cache, and one far beyond its first levels.
void Sizes(benchmark::internal::Benchmark* bench) { bench->Arg(256_KiB)->Arg(64_MiB); }

void Count(benchmark::State& state, int streams) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * streams);
}

void Memcpy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes, std::byte{2});
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  Count(state, 2);
}
BENCHMARK(Memcpy)->Apply(Sizes);

// Zeros, so that no number of folds leaves the range of ordinary numbers.
void FoldBoth(benchmark::State& state, Op op, DType dtype) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> a(bytes);
  const std::vector<std::byte> b(bytes);
  std::vector<std::byte> out(bytes);
  for (auto _ : state) {
    Fold(op, dtype, out, a, b);
    benchmark::ClobberMemory();
  }
  Count(state, 3);
}

void FoldInPlace(benchmark::State& state, Op op, DType dtype) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> a(bytes);
  const std::vector<std::byte> b(bytes);
  for (auto _ : state) {
    Fold(op, dtype, a, a, b);
    benchmark::ClobberMemory();
  }
  Count(state, 3);
}

#define HOPLITE_FOLD(name, op, dtype)                         \
  BENCHMARK_CAPTURE(FoldBoth, name, op, dtype)->Apply(Sizes); \
  BENCHMARK_CAPTURE(FoldInPlace, name, op, dtype)->Apply(Sizes)
HOPLITE_FOLD(sum_float32, Op::kSum, DType::kFloat32);
HOPLITE_FOLD(sum_bfloat16, Op::kSum, DType::kBFloat16);
HOPLITE_FOLD(sum_float16, Op::kSum, DType::kFloat16);
HOPLITE_FOLD(max_int32, Op::kMax, DType::kInt32);
HOPLITE_FOLD(max_float32, Op::kMax, DType::kFloat32);

}  // namespace
}  // namespace hoplite::reduce

// Every fold against plain code: all or many values, then all lengths, alignments and ways to
// share.
#include "reduce/fold.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/reduce_table.h"
#include "base/reduce_types.h"
#include "on_each_target.h"
#include "reference.h"

namespace hoplite::reduce {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Run>
void ForEachFold(const Run& run) {
  for (const DType dtype : AllDTypes()) {
    for (const Op op : AllOps()) {
      if (!Supports(op, dtype)) continue;
      SCOPED_TRACE(std::string(Name(op)) + " of " + std::string(Name(dtype)));
      run(op, dtype);
    }
  }
}

std::string Hex(std::span<const std::byte> element) {
  std::string text;
  for (std::size_t i = element.size(); i-- > 0;) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(element[i]) >> 4];
    text += kDigits[std::to_integer<unsigned>(element[i]) & 15];
  }
  return text;
}

// Says which element differs first.
testing::AssertionResult Equal(DType dtype, const Bytes& a, const Bytes& b,
                               std::span<const std::byte> got, const Bytes& expected) {
  const auto [differs, unused] = std::ranges::mismatch(got, expected);
  if (differs == got.end()) return testing::AssertionSuccess();
  const std::size_t size = SizeOf(dtype);
  const std::size_t at = static_cast<std::size_t>(differs - got.begin()) / size * size;
  const auto element = [&](std::span<const std::byte> all) { return Hex(all.subspan(at, size)); };
  return testing::AssertionFailure()
         << "element " << at / size << ": " << element(a) << " and " << element(b) << " give "
         << element(got) << ", not " << element(expected);
}

// Both orders give the reference's bits on every target.
void Check(Op op, DType dtype, const Bytes& a, const Bytes& b) {
  const Bytes expected = ReferenceFold(op, dtype, a, b);
  Bytes out(a.size());
  OnEachTarget([&] {
    Fold(op, dtype, out, a, b);
    EXPECT_TRUE(Equal(dtype, a, b, out, expected));
    Fold(op, dtype, out, b, a);
    EXPECT_TRUE(Equal(dtype, b, a, out, expected));
  });
}

void Append(Bytes& bytes, std::uint64_t bits, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(&bits);
  bytes.insert(bytes.end(), first, first + size);
}

// Bits around every boundary of integers and floats of this size, and some without a pattern.
std::vector<std::uint64_t> NotableBits(DType dtype, std::size_t random_ones) {
  const unsigned width = static_cast<unsigned>(8 * SizeOf(dtype));
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  std::set<std::uint64_t> all;
  const auto add_around = [&](std::uint64_t bits) {
    for (const std::uint64_t near : {bits - 1, bits, bits + 1}) {
      all.insert(near & (sign | (sign - 1)));
      all.insert((near ^ sign) & (sign | (sign - 1)));
    }
  };
  add_around(0);
  const DTypeRow& type = *RowOf(kDTypeRows, static_cast<std::uint32_t>(dtype));
  if (type.kind == ElementKind::kFloat) {
    const std::uint64_t normal = std::uint64_t{1} << type.mantissa_bits;
    const std::uint64_t infinity = InfinityOf(type);
    const std::uint64_t one = (infinity / 2) & ~(normal - 1);
    const std::uint64_t two = one + normal;
    const std::uint64_t quiet_nan = infinity + normal / 2;
    for (const std::uint64_t bits : {normal, one, two, infinity, quiet_nan}) add_around(bits);
  } else {
    for (unsigned bit = width / 2; bit < width; bit += width / 4) {
      add_around(std::uint64_t{1} << bit);
    }
  }
  std::vector<std::uint64_t> bits(all.begin(), all.end());
  std::mt19937_64 random(11);
  for (std::size_t i = 0; i < random_ones; ++i) bits.push_back(random() & (sign | (sign - 1)));
  return bits;
}

TEST(Fold, EqualsTheReferenceForEveryBitPatternOfSmallTypes) {
  ForEachFold([](Op op, DType dtype) {
    const std::size_t size = SizeOf(dtype);
    if (size > 2) return;
    const std::uint64_t patterns = std::uint64_t{1} << (8 * size);
    // With every other one, or with those that matter.
    std::vector<std::uint64_t> others(256);
    for (std::uint64_t i = 0; i < 256; ++i) others[i] = i;
    if (size == 2) others = NotableBits(dtype, 4);
    for (const std::uint64_t other : others) {
      Bytes a;
      Bytes b;
      for (std::uint64_t bits = 0; bits < patterns; ++bits) {
        Append(a, bits, size);
        Append(b, other, size);
      }
      ASSERT_NO_FATAL_FAILURE(Check(op, dtype, a, b));
    }
  });
}

TEST(Fold, EqualsTheReferenceForNotableAndRandomBits) {
  ForEachFold([](Op op, DType dtype) {
    const std::vector<std::uint64_t> notable = NotableBits(dtype, 200);
    Bytes a;
    Bytes b;
    for (const std::uint64_t x : notable) {
      for (const std::uint64_t y : notable) {
        Append(a, x, SizeOf(dtype));
        Append(b, y, SizeOf(dtype));
      }
    }
    Check(op, dtype, a, b);
  });
}

// Lengths around one and several vectors of 16, 32 and 64 bytes.
std::vector<std::size_t> NotableCounts(DType dtype) {
  std::set<std::size_t> counts = {0, 1, 2, 3, 1021};
  for (const std::size_t bytes : {16, 32, 64, 128, 192, 256}) {
    const std::size_t lanes = bytes / SizeOf(dtype);
    counts.insert({lanes - 1, lanes, lanes + 1});
  }
  return {counts.begin(), counts.end()};
}

Bytes RandomBytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// Bytes at an address of any alignment. They end where their allocation does, so that the address
// sanitizer sees whoever reads on; what lies before them shows who wrote there.
class Shifted {
 public:
  Shifted(const Bytes& bytes, std::size_t shift) : all_(shift, kBefore), shift_(shift) {
    all_.insert(all_.end(), bytes.begin(), bytes.end());
    all_.shrink_to_fit();
  }

  std::span<std::byte> bytes() { return std::span(all_).subspan(shift_); }
  bool NothingBefore() const {
    return std::ranges::count(std::span(all_).first(shift_), kBefore) ==
           static_cast<std::ptrdiff_t>(shift_);
  }

 private:
  static constexpr std::byte kBefore{0xA5};
  Bytes all_;
  std::size_t shift_;
};

TEST(Fold, WorksForEveryLengthAlignmentAndPlaceOfTheResult) {
  ForEachFold([](Op op, DType dtype) {
    for (const std::size_t count : NotableCounts(dtype)) {
      SCOPED_TRACE(count);
      const Bytes a = RandomBytes(count * SizeOf(dtype), 1);
      const Bytes b = RandomBytes(count * SizeOf(dtype), 2);
      const Bytes expected = ReferenceFold(op, dtype, a, b);
      OnEachTarget([&] {
        for (const std::size_t shift : {0, 1, 3, 8}) {
          Shifted x(a, shift);
          Shifted y(b, shift / 2);
          Shifted out(Bytes(a.size()), 8 - shift);
          Fold(op, dtype, out.bytes(), x.bytes(), y.bytes());
          EXPECT_TRUE(Equal(dtype, a, b, out.bytes(), expected));
          EXPECT_TRUE(out.NothingBefore());

          Shifted into_a(a, shift);
          Fold(op, dtype, into_a.bytes(), into_a.bytes(), y.bytes());
          EXPECT_TRUE(Equal(dtype, a, b, into_a.bytes(), expected));

          Fold(op, dtype, y.bytes(), x.bytes(), y.bytes());
          EXPECT_TRUE(Equal(dtype, a, b, y.bytes(), expected));
        }
      });
    }
  });
}

TEST(Fold, LeavesTheBytesBehindTheResult) {
  ForEachFold([](Op op, DType dtype) {
    const std::size_t bytes = 67 * SizeOf(dtype);
    Bytes out = RandomBytes(bytes + 64, 3);
    const Bytes before = out;
    OnEachTarget([&] {
      const auto folded = std::span(out).first(bytes);
      Fold(op, dtype, folded, folded, folded);
      EXPECT_TRUE(std::equal(out.begin() + static_cast<std::ptrdiff_t>(bytes), out.end(),
                             before.begin() + static_cast<std::ptrdiff_t>(bytes)));
    });
  });
}

std::vector<DType> Floats() {
  std::vector<DType> floats = AllDTypes();
  std::erase_if(floats, [](DType dtype) { return !Supports(Op::kMean, dtype); });
  return floats;
}

// The last one is no number of any 16-bit float.
constexpr std::uint64_t kNotableDivisors[] = {2, 3, 5, 257, kMaxReduceSources - 1};

void CheckQuotients(DType dtype, const Bytes& sums, std::uint64_t by) {
  SCOPED_TRACE(std::string(Name(dtype)) + " by " + std::to_string(by));
  const Bytes expected = ReferenceQuotients(dtype, sums, by);
  OnEachTarget([&] {
    Bytes out = sums;
    Finish(Op::kMean, dtype, out, by);
    EXPECT_TRUE(Equal(dtype, sums, sums, out, expected));
  });
}

TEST(Finish, AMeanIsTheReferencesQuotientForEveryBitPatternThatMatters) {
  for (const DType dtype : Floats()) {
    const std::size_t size = SizeOf(dtype);
    Bytes sums;
    if (size == 2) {
      for (std::uint64_t bits = 0; bits < 65'536; ++bits) Append(sums, bits, size);
    } else {
      for (const std::uint64_t bits : NotableBits(dtype, 1000)) Append(sums, bits, size);
    }
    for (const std::uint64_t by : kNotableDivisors) CheckQuotients(dtype, sums, by);
  }
}

TEST(Finish, WorksForEveryLengthAndAlignmentAndTouchesNothingElse) {
  for (const DType dtype : Floats()) {
    for (const std::size_t count : NotableCounts(dtype)) {
      const Bytes sums = RandomBytes(count * SizeOf(dtype), 1);
      const Bytes expected = ReferenceQuotients(dtype, sums, 3);
      OnEachTarget([&] {
        for (const std::size_t shift : {0, 1, 3, 8}) {
          Shifted out(sums, shift);
          Finish(Op::kMean, dtype, out.bytes(), 3);
          EXPECT_TRUE(Equal(dtype, sums, sums, out.bytes(), expected));
          EXPECT_TRUE(out.NothingBefore());
        }
      });
    }
  }
}

TEST(Finish, LeavesWhatIsNoMeanAndTheMeanOfOne) {
  const Bytes elements = RandomBytes(64, 4);
  ForEachFold([&](Op op, DType dtype) {
    Bytes out = elements;
    Finish(op, dtype, out, op == Op::kMean ? 1 : 5);
    EXPECT_EQ(out, elements);
  });
}

using FoldDeathTest = testing::Test;

TEST(FoldDeathTest, RefusesWhatItCannotDo) {
  Bytes bytes(64);
  const std::span<std::byte> all = bytes;
  EXPECT_DEATH(Fold(Op::kAnd, DType::kFloat32, all, all, all), "none for this dtype");
  EXPECT_DEATH(Fold(Op::kSum, DType{99}, all, all, all), "none for this dtype");
  EXPECT_DEATH(Fold(Op::kMean, DType::kInt32, all, all, all), "none for this dtype");
  EXPECT_DEATH(Finish(Op::kMean, DType::kInt32, all, 2), "only floats");
  EXPECT_DEATH(Fold(Op::kSum, DType::kInt8, all, all, all.first(63)), "differ in size");
  EXPECT_DEATH(Fold(Op::kSum, DType::kInt16, all.first(3), all.first(3), all.first(3)),
               "within an element");
  EXPECT_DEATH(Fold(Op::kSum, DType::kInt8, all.subspan(1), all.subspan(1), all.first(63)),
               "overlaps");
}

}  // namespace
}  // namespace hoplite::reduce

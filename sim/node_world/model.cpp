#include "sim/node_world/model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/checksum.h"
#include "sim/kit/random.h"
#include "store/copy.h"

namespace hoplite::node_world {
namespace {

template <typename Number = std::uint64_t>
Number Word(std::span<const std::byte> bytes, std::size_t i) {
  Number word = 0;
  std::memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
  return word;
}

template <typename Number>
Number TotalOf(const std::vector<const Model::Bytes*>& sources, std::size_t i) {
  Number total = 0;
  for (const Model::Bytes* one : sources) total += Word<Number>(*one, i);
  return total;
}

// Whether the word of a target is what these sources give. Behind the elements it is that of any.
bool IsMadeOf(const std::vector<const Model::Bytes*>& sources, const ReduceOptions& options,
              std::span<const std::byte> target, std::size_t i) {
  if (options.folded_bytes != 0 && i >= options.folded_bytes / sizeof(std::uint64_t)) {
    return std::ranges::any_of(
        sources, [&](const Model::Bytes* one) { return Word(*one, i) == Word(target, i); });
  }
  if (options.op == Op::kSum) return TotalOf<std::uint64_t>(sources, i) == Word(target, i);
  return TotalOf<double>(sources, i) / static_cast<double>(sources.size()) ==
         Word<double>(target, i);
}

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

const Model::Bytes& Model::Begin(const ObjectId& object, std::uint64_t size_bytes) {
  sim::Random random(++begun_ * 7919);
  auto bytes = std::make_unique<Bytes>(size_bytes);
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= size_bytes; i += sizeof(std::uint64_t)) {
    // A whole number, so that sums of it are exact as of float64, too.
    const auto word = static_cast<double>(random.Next() >> 24);
    std::memcpy(bytes->data() + i, &word, sizeof(word));
  }
  return *attempts_[object].emplace_back(std::move(bytes));
}

Error Model::BeginFailure(const ObjectId& object) {
  std::set<std::string>& failures = failures_[object];
  const std::string said =
      fmt::format("attempt {} at {} failed", failures.size() + 1, object.ToShortString());
  return {ErrorCode::kFailed, *failures.insert(said).first};
}

// Of a sum one of its sources'.
std::string Model::CheckFailure(const ObjectId& object, const Error& error) const {
  const auto tells = [&](const ObjectId& one) {
    const auto failures = failures_.find(one);
    return failures != failures_.end() &&
           std::ranges::any_of(failures->second, [&](const std::string& said) {
             return error.message == said || (one != object && error.message.contains(said));
           });
  };
  const auto sum = sums_.find(object);
  const bool said =
      sum == sums_.end() ? tells(object) : std::ranges::any_of(sum->second.options.sources, tells);
  return said ? "" : "P3: a reader was told a failure that nobody put: " + error.message;
}

void Model::BeginSum(const ReduceOptions& options) {
  sums_[options.target] = {.options = options, .used = {}, .read = {}};
}

void Model::EndSum(const ReduceOutcome& outcome) {
  sums_.at(outcome.target).used.emplace(outcome.used.begin(), outcome.used.end());
}

std::string Model::Check(const ObjectId& object, std::span<const std::byte> bytes,
                         std::uint64_t size_bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return "";
  const auto sum = sums_.find(object);
  if (sum != sums_.end()) {
    return bytes.size() == size_bytes ? CheckSum(object, sum->second, bytes) : "";
  }
  for (const auto& attempt : attempts_[object]) {
    if (attempt->size() != size_bytes || Word(*attempt, 0) != Word(bytes, 0)) continue;
    if (Same(std::span(*attempt).first(bytes.size()), bytes)) return "";
    return fmt::format("P3: a reader of {} got bytes of two attempts", object.ToShortString());
  }
  return fmt::format("P3: a reader of {} got bytes that nobody put", object.ToShortString());
}

std::string Model::CheckSum(const ObjectId& target, Sum& sum,
                            std::span<const std::byte> bytes) const {
  if (sum.read) {
    if (Same(*sum.read, bytes)) return "";
    return fmt::format("P6: two readers of {} got different sums", target.ToShortString());
  }
  sum.read.emplace(bytes.begin(), bytes.end());
  return "";
}

// Whether what was read is made of one attempt at each used object.
bool Model::IsSumOf(const Sum& sum, const std::vector<ObjectId>& used) const {
  const Bytes& bytes = *sum.read;
  std::vector<const Bytes*> chosen;
  const std::function<bool(std::size_t)> choose = [&](std::size_t next) {
    if (next == used.size()) {
      for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint64_t); ++i) {
        if (!IsMadeOf(chosen, sum.options, bytes, i)) return false;
      }
      return true;
    }
    const auto attempts = attempts_.find(used[next]);
    if (attempts == attempts_.end()) return false;
    for (const auto& attempt : attempts->second) {
      if (attempt->size() != bytes.size()) continue;
      chosen.push_back(attempt.get());
      if (choose(next + 1)) return true;
      chosen.pop_back();
    }
    return false;
  };
  return choose(0);
}

std::uint64_t Model::Fingerprint(std::span<const std::byte> bytes) {
  return BlockChecksum(bytes) ^ bytes.size();
}

std::string Model::CheckSums() {
  for (const auto& [target, sum] : sums_) {
    if (!sum.read) continue;
    bool found = false;
    const std::size_t n = sum.options.sources.size();
    const std::size_t wanted = sum.options.num_objects.value_or(n);
    for (std::uint32_t set = 1; set < (1u << n) && !found; ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != wanted) continue;
      std::vector<ObjectId> used;
      for (std::size_t i = 0; i < n; ++i) {
        if ((set >> i & 1) != 0) used.push_back(sum.options.sources[i]);
      }
      if (sum.used && std::set(used.begin(), used.end()) != *sum.used) continue;
      found = IsSumOf(sum, used);
    }
    if (!found) {
      return fmt::format("P6: the bytes of {} are not the {} of {} used sources, each once",
                         target.ToShortString(), Name(sum.options.op), wanted);
    }
  }
  return "";
}

}  // namespace hoplite::node_world

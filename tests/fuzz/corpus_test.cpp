// Every fuzz target over its kept corpus, and over random changes of it: no hunt (libFuzzer and
// scripts/fuzz.sh are for that), but what was once found stays found.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/targets.h"

namespace hoplite::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Target {
  const char* name;
  void (*run)(Input);
  int changes;  // they take some tenths of a second with sanitizers
};

std::vector<Bytes> CorpusOf(const Target& target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(HOPLITE_CORPUS) / target.name)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Changes an input in one of the ways that find things.
class Mutator {
 public:
  explicit Mutator(std::vector<Bytes> corpus) : corpus_(std::move(corpus)) {}

  Bytes Next() {
    Bytes bytes = Any();
    for (std::size_t i = 1 + Below(4); i > 0; --i) Change(bytes);
    return bytes;
  }

 private:
  std::size_t Below(std::size_t bound) { return random_() % bound; }
  const Bytes& Any() { return corpus_[Below(corpus_.size())]; }
  Bytes::iterator Place(Bytes& bytes) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(Below(bytes.size() + 1));
  }
  void Change(Bytes& bytes) {
    switch (bytes.empty() ? 0 : Below(5)) {
      case 0:
        bytes.insert(Place(bytes), static_cast<std::uint8_t>(random_()));
        return;
      case 1:
        bytes[Below(bytes.size())] ^= static_cast<std::uint8_t>(1u << Below(8));
        return;
      case 2:
        bytes[Below(bytes.size())] = static_cast<std::uint8_t>(random_());
        return;
      case 3: {
        const auto from = Place(bytes);
        bytes.erase(from, from + std::min<std::ptrdiff_t>(bytes.end() - from, 1 + Below(8)));
        return;
      }
      default: {
        Bytes other = Any();
        const auto from = Place(other);
        bytes.insert(Place(bytes), from, from + std::min<std::ptrdiff_t>(other.end() - from, 64));
      }
    }
  }

  const std::vector<Bytes> corpus_;
  std::mt19937 random_{1};
};

class FuzzTarget : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzTarget, BearsItsCorpusAndChangesOfIt) {
  const std::vector<Bytes> corpus = CorpusOf(GetParam());
  ASSERT_FALSE(corpus.empty());
  for (const Bytes& bytes : corpus) GetParam().run(bytes);
  Mutator mutator(corpus);
  for (int i = 0; i < GetParam().changes; ++i) GetParam().run(mutator.Next());
}

INSTANTIATE_TEST_SUITE_P(
    Each, FuzzTarget,
    ::testing::Values(Target{"text", Text, 4'000}, Target{"frames", Frames, 1'000},
                      Target{"server", Server, 400}, Target{"lane", Lane, 400},
                      Target{"messages", Messages, 1'000}, Target{"directory", Directory, 400},
                      Target{"reduction", Reduction, 400}, Target{"session", Session, 1'000},
                      Target{"local", Local, 400}, Target{"tls", Tls, 100}),
    [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace hoplite::fuzz

// The file that the demo broadcasts, and how fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <hoplite/result.h>

namespace hoplite::cli::demo {

struct Subject {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::string hash;
  std::uint64_t memory_bytes = 0;           // what a node reserves for it
  std::uint64_t rate_bytes_per_second = 0;  // one hop takes some seconds with it

  double bound_seconds() const {  // S/B: no broadcast of it can be faster
    return static_cast<double>(size_bytes) / static_cast<double>(rate_bytes_per_second);
  }
};

// `path` empty: some large file that is on any machine which can build this program.
// Refuses one that this machine can't hold at so many nodes.
Result<Subject> ChooseSubject(const std::string& path, std::size_t nodes);

// A file's bytes, mapped while the pointer lives.
Result<std::shared_ptr<const std::byte>> MapFile(const std::string& path, std::uint64_t size_bytes);

// The lowest round rate at which that many bytes take at most eight seconds.
std::uint64_t WatchableRate(std::uint64_t size_bytes);

}  // namespace hoplite::cli::demo

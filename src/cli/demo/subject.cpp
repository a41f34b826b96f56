#include "cli/demo/subject.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "cli/demo/receiver.h"
#include "store/available_memory.h"

namespace hoplite::cli::demo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargeEnough = 20'000'000;
constexpr std::uint64_t kTooLarge = 200'000'000;
// Smaller files have arrived before anybody can look, or never leave the directory.
constexpr std::uint64_t kSmallest = 4_MiB;

// Where the compiler's own libraries are, on any machine that built this program.
constexpr std::array kFolders{"/usr/lib/llvm-19/lib", "/usr/lib/x86_64-linux-gnu",
                              "/usr/lib/aarch64-linux-gnu", "/usr/bin"};

bool Suits(const fs::directory_entry& entry) {
  std::error_code error;
  if (!entry.is_regular_file(error)) return false;
  const std::uint64_t size = entry.file_size(error);
  return !error && size >= kLargeEnough && size <= kTooLarge;
}

// The library of the compiler if it is there, else any file of that size; the same one every time.
std::optional<std::string> FindDefault() {
  std::optional<std::string> found;
  for (const char* folder : kFolders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (!Suits(entry)) continue;
      std::string path = entry.path();
      if (entry.path().filename().string().starts_with("libclang-cpp")) return path;
      if (!found || path < *found) found = std::move(path);
    }
  }
  return found;
}

Result<std::uint64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error) {
    return std::unexpected(
        Error(ErrorCode::kNotFound, fmt::format("can't read '{}': {}", path, error.message())));
  }
  if (size < kSmallest) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("'{}' has {}: choose a file of at least {}, smaller ones are through "
                          "before anybody can look",
                          path, FormatSize(size), FormatSize(kSmallest))));
  }
  return size;
}

// Room for the file and a little beside it.
Result<std::uint64_t> MemoryOfANode(std::uint64_t size_bytes, std::size_t nodes) {
  const std::uint64_t each = size_bytes + size_bytes / 8 + 16_MiB;
  const store::MemoryLimit available = store::AvailableMemory();
  if (each <= available.bytes / nodes) return each;
  return std::unexpected(Error(
      ErrorCode::kResourceExhausted,
      fmt::format("{} nodes with {} each don't fit into {} of memory ({}): choose a smaller file",
                  nodes, FormatSize(each), FormatSize(available.bytes), available.whose)));
}

}  // namespace

Result<Subject> ChooseSubject(const std::string& path, std::size_t nodes) {
  Subject subject;
  subject.path = path.empty() ? FindDefault().value_or("") : path;
  if (subject.path.empty()) {
    return std::unexpected(
        Error(ErrorCode::kNotFound, "found no file of 20 to 200 MB to show: name one, demo FILE"));
  }
  TRY_ASSIGN(subject.size_bytes, SizeOf(subject.path));
  TRY_ASSIGN(subject.memory_bytes, MemoryOfANode(subject.size_bytes, nodes));
  TRY_ASSIGN(const auto bytes, MapFile(subject.path, subject.size_bytes));
  subject.hash = HashOf({bytes.get(), subject.size_bytes});
  subject.rate_bytes_per_second = WatchableRate(subject.size_bytes);
  return subject;
}

Result<std::shared_ptr<const std::byte>> MapFile(const std::string& path,
                                                 std::uint64_t size_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = file.get() < 0
                           ? MAP_FAILED
                           : ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) {
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 fmt::format("can't read '{}': {}", path, std::strerror(errno))));
  }
  return std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(mapped),
      [mapped, size_bytes](const std::byte*) { ::munmap(mapped, size_bytes); });
}

std::uint64_t WatchableRate(std::uint64_t size_bytes) {
  constexpr std::uint64_t kSeconds = 8;
  constexpr std::uint64_t kMegabit = 125'000;
  for (std::uint64_t power = 1;; power *= 10) {
    for (const std::uint64_t digit : {1, 2, 5}) {
      const std::uint64_t rate = digit * power * kMegabit;
      if (rate * kSeconds >= size_bytes) return rate;
    }
  }
}

}  // namespace hoplite::cli::demo

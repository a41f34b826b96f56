// OutputFile: where `get` writes. A file appears under its name only when it is whole: until then
// it has none, and goes with this process however that ends. Where the file system can't do that it
// is a hidden file beside it, which goes on any error and on Ctrl-C. Standard output, devices and
// pipes are written to as bytes come.
//
// At most one at a time (the signal handler knows one file). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <hoplite/result.h>

#include "base/file_descriptor.h"

namespace hoplite::cli {

// Memory that is a file's bytes.
class FileMapping {
 public:
  explicit FileMapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileMapping& operator=(FileMapping&&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

class OutputFile {
 public:
  static Result<OutputFile> Open(const std::string& path);  // "-": standard output
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)),
        hidden_path_(std::exchange(other.hidden_path_, {})),
        nameless_(std::exchange(other.nameless_, false)),
        fd_(std::move(other.fd_)) {}
  OutputFile& operator=(OutputFile&&) = delete;

  Result<void> Write(std::span<const std::byte> bytes);
  int descriptor() const { return fd_.get(); }
  // Whether what was written can be taken back, and the file can be mapped.
  bool regular() const { return nameless_ || !hidden_path_.empty(); }
  // Makes a regular file so long, and gives its bytes to be filled.
  Result<FileMapping> Map(std::uint64_t size);
  Result<void> Resize(std::uint64_t size);
  // Forgets what was written. False if that can't be, because a reader has it already.
  bool Restart();
  // Everything is written: the file gets its name.
  Result<void> Commit();

 private:
  OutputFile(std::string path, std::string hidden_path, FileDescriptor fd);
  static Result<OutputFile> OpenHidden(const std::string& path);
  // Of what has no name: the hidden one, for a moment.
  Result<void> Name();

  std::string path_;
  std::string hidden_path_;  // empty: written directly, nameless, or committed
  bool nameless_ = false;
  FileDescriptor fd_;
};

}  // namespace hoplite::cli

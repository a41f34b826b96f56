// PrivateFolder: a folder that only this user can enter, for the sockets of local clusters. Goes
// with everything in it when this object goes. It is locked as long as its process lives: whoever
// makes one removes those that are empty and not locked, whose processes were killed.
#pragma once

#include <filesystem>
#include <utility>

#include <hoplite/result.h>

#include "base/file_descriptor.h"

namespace hoplite::cli {

class PrivateFolder {
 public:
  static Result<PrivateFolder> Make();
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder(std::filesystem::path path, FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace hoplite::cli

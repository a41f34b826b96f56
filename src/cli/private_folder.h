// PrivateFolder: a folder that only this user can enter, for the sockets of local clusters. Goes
// with everything in it when this object goes.
#pragma once

#include <filesystem>
#include <utility>

#include <hoplite/result.h>

namespace hoplite::cli {

class PrivateFolder {
 public:
  static Result<PrivateFolder> Make();
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace hoplite::cli

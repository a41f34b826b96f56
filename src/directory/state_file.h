// StateFile: where a shard keeps its ShardState over restarts: a few lines of text.
//
// Locked against other processes, from Open, or the first Write if there is no file yet, to its end.
// What was written is on the disk, file and folder, when Write returns; whatever ends the process,
// the file is the old one or the new one, whole. Errors name the file. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "directory/admission.h"

namespace hoplite::directory {

class StateFile {
 public:
  // `owner` says in words whose file it is.
  //   unavailable       another process uses it
  //   invalid_argument  it can't be read, is of another owner, user or version, or damaged
  static Result<StateFile> Open(const std::string& path, const std::string& owner);

  // What an earlier life wrote; none: the file is new.
  const std::optional<ShardState>& kept() const { return kept_; }

  //   unavailable         another process made the file at the same time
  //   resource_exhausted  there is no room for it
  //   invalid_argument    its folder can't be written to
  Result<void> Write(const ShardState& state);

 private:
  StateFile() = default;
  Error Bad(const std::string& what, ErrorCode code = ErrorCode::kInvalidArgument) const;
  Error CantDo(const char* what) const;  // by errno
  Result<FileDescriptor> OpenLocked(const std::string& path, int flags) const;
  Result<ShardState> Read() const;

  std::string path_;
  std::string owner_;
  FileDescriptor file_;  // what lies at path_
  std::optional<ShardState> kept_;
};

}  // namespace hoplite::directory

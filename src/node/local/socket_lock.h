// SocketLock: that of several nodes which start at one socket's path one at a time makes the socket.
//
// A socket that is bound and does not listen yet looks like one that a dead node left. So whoever
// makes or removes a node's socket holds a lock meanwhile: that of the file PATH.lock beside it.
#pragma once

#include <string>
#include <utility>

#include <hoplite/result.h>

#include "base/file_descriptor.h"

namespace hoplite::node {

// Until it is destroyed, or its process ends. Removes the file then; that of a killed process is
// taken over.
class SocketLock {
 public:
  //   unavailable  another node has it, or there can be no such file: says why
  static Result<SocketLock> Take(const std::string& socket);
  ~SocketLock();
  SocketLock(SocketLock&&) noexcept = default;
  SocketLock& operator=(SocketLock&&) = delete;

 private:
  SocketLock(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  FileDescriptor file_;
};

}  // namespace hoplite::node

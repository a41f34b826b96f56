// Descriptors that travel with bytes of a Unix stream socket (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sys/socket.h>

#include "base/file_descriptor.h"

namespace hoplite::wire {

// What one sendmsg or recvmsg may carry. While that call runs this lends the message its memory.
class PassedDescriptors {
 public:
  static constexpr std::size_t kMost = 4;

  // For sendmsg: these go with the message's first byte; at most kMost, or none. They stay the
  // caller's.
  void Attach(std::span<const int> descriptors, msghdr& head);
  // For recvmsg, which should set MSG_CMSG_CLOEXEC.
  void MakeRoom(msghdr& head);
  // After it: those that came. One of -1 stands for what was dropped because this process can have
  // no more.
  static std::vector<FileDescriptor> Take(msghdr& head);

 private:
  alignas(cmsghdr) char control_[CMSG_SPACE(kMost * sizeof(int))] = {};
};

}  // namespace hoplite::wire

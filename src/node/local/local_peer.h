// LocalPeer: which process is at the other end of a local connection, and when it is gone.
#pragma once

#include <functional>
#include <memory>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <sys/types.h>

namespace hoplite::node {

// By SO_PEERCRED and a pidfd. On the node's loop only.
class LocalPeer {
 public:
  LocalPeer(asio::io_context& loop, int socket);

  // Runs as the same user as this process.
  bool same_user() const { return same_user_; }
  // Whether the exit can be seen at all: not for a process of another pid namespace.
  bool watchable() const { return exit_->is_open(); }
  // Not now: this process has no descriptor left.
  bool no_descriptor_left() const { return no_descriptor_left_; }
  pid_t pid() const { return pid_; }
  // Once, soon after the process is gone; not after this object is.
  void OnExit(std::function<void()> on_exit);

 private:
  bool same_user_ = false;
  pid_t pid_ = 0;
  bool no_descriptor_left_ = false;
  const std::shared_ptr<asio::posix::stream_descriptor> exit_;  // handlers look whether it is there
};

}  // namespace hoplite::node

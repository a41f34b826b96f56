// LocalPeer: which process is at the other end of a local connection, and when it is gone.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <asio/io_context.hpp>
#include <sys/types.h>

#include "node/local/end_watch.h"

namespace hoplite::node {

// By SO_PEERCRED and a pidfd. On the node's loop only.
class LocalPeer {
 public:
  LocalPeer(asio::io_context& loop, int socket);

  // Runs as the same user as this process.
  bool same_user() const { return same_user_; }
  // Whether the exit can be seen at all: not where this process's pid namespace does not show it.
  bool watchable() const { return exit_ && exit_->watching(); }
  // Not now: this process has no descriptor left.
  bool no_descriptor_left() const { return no_descriptor_left_; }
  pid_t pid() const { return pid_; }  // 0: not shown
  // Once, soon after the process is gone; not after this object is.
  void OnExit(std::function<void()> on_exit) { exit_->OnEnd(std::move(on_exit)); }

 private:
  bool same_user_ = false;
  pid_t pid_ = 0;
  bool no_descriptor_left_ = false;
  std::optional<EndWatch> exit_;
};

}  // namespace hoplite::node

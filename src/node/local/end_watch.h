// EndWatch: tells once that what a descriptor stands for has ended: the process of a pidfd, or
// everybody who held the other end of a pipe.
#pragma once

#include <functional>
#include <memory>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include "base/file_descriptor.h"

namespace hoplite::node {

// Both become readable then, and never before: nothing is written to such a pipe. On the node's loop
// only.
class EndWatch {
 public:
  EndWatch(asio::io_context& loop, FileDescriptor descriptor);

  // Whether it can tell at all.
  bool watching() const { return descriptor_->is_open(); }
  // Soon after the end; not after this object is gone.
  void OnEnd(std::function<void()> on_end);

 private:
  // Handlers look whether it is there.
  const std::shared_ptr<asio::posix::stream_descriptor> descriptor_;
};

}  // namespace hoplite::node

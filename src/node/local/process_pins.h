// ProcessPins: what the processes of one client may look at although the client can't release it, or
// not alone: what its forked children inherited, and what it had when its connection ended.
//
// Decides: when such memory is free again. Is told: the client's pipes, its forks, the end of its
// connection and of its process. Must never: give back a range while a process lives that may see
// it. That is known from pipes, which the processes hold open (docs/protocol.md, R60), wherever they
// run. A client that closes keeps its pipe as long as it has views. Where no pipe could be had the
// exit of the client's own process is known, if that is watched. On the node's loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "node/local/end_watch.h"
#include "store/object_store.h"

namespace hoplite::node {

class ProcessPins {
 public:
  // `watched`: OnExit will be called. `on_free`: some of it is free again; that call is the last
  // thing which a function here does.
  ProcessPins(asio::io_context& loop, bool watched, std::function<void()> on_free);

  // The client, and whom it forks from now on, hold this pipe open instead of another one. None came
  // if it is of -1: then only the exit is known, and that of children is not.
  //   protocol  it is no pipe
  Result<void> Take(FileDescriptor pipe);
  bool has_pipe() const { return pipe_ != nullptr; }
  // A child has inherited these, with the client's pipe of now.
  void Fork(std::vector<store::CopyPtr> copies);
  //   protocol  they are too many: there must be no more
  Result<void> CheckForks() const;
  // The connection has ended, and the client had these.
  void OnConnectionEnd(std::vector<store::CopyPtr> copies);
  void OnExit();
  // The node goes away.
  void Clear();
  std::size_t count() const { return left_.size() + childrens_pins_; }

 private:
  using Pins = std::unordered_set<store::CopyPtr>;
  using Pipe = std::shared_ptr<EndWatch>;
  // Of whatever descriptor: its device and inode.
  using PipeName = std::pair<std::uint64_t, std::uint64_t>;
  struct Child {
    Pipe pipe;
    Pins pins;
  };

  void OnPipeEnd(PipeName name);
  void FreeLeft();

  asio::io_context& loop_;
  const std::function<void()> on_free_;
  bool connected_ = true;
  bool running_;             // the client's process; false also if nobody would say that it ended
  PipeName name_;            // of the next
  Pipe pipe_;                // the client's; none: none came, or it has ended
  bool pipe_ended_ = false;  // so the client has no views, although its process may run
  std::map<PipeName, Child> children_;
  std::size_t childrens_pins_ = 0;
  Pins left_;  // until the client is gone
};

}  // namespace hoplite::node

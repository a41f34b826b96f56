// A node's parts with a data plane, whose loops the user turns.
#pragma once

#include <memory>
#include <utility>

#include "fuzz/script.h"
#include "node/streams/data_plane.h"
#include "testing/node_parts.h"

namespace hoplite::fuzz {

// A connect gives the stream that was put into it, if there is one.
class OneStream final : public net::Transport {
 public:
  explicit OneStream(net::StreamPtr& next) : next_(next) {}
  Result<std::unique_ptr<net::Listener>> Listen(const std::string&,
                                                std::function<void(net::StreamPtr)>) override {
    return std::unexpected(Error(ErrorCode::kUnavailable, "nobody listens here"));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string /*address*/, Duration) override {
    if (next_ == nullptr)
      co_return std::unexpected(Error(ErrorCode::kUnavailable, "nobody is there"));
    co_return std::exchange(next_, nullptr);
  }

 private:
  net::StreamPtr& next_;
};

struct NodeParts : testing::NodeParts {
  NodeParts()
      : testing::NodeParts({.self = kSelf, .cluster_id = kCluster, .longest_hold = Duration(0)}) {}
  // Runs until nothing is left to do but to wait.
  void Turn() {
    while (runtime.main().poll() + runtime.data(0).poll() > 0) {
    }
  }

  net::StreamPtr next_stream;  // the next connection is this
  node::DataPlane data_plane{context, std::make_unique<OneStream>(next_stream)};
};

}  // namespace hoplite::fuzz

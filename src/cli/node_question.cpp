#include "cli/node_question.h"

#include <chrono>

#include "base/try.h"

namespace hoplite::cli {

net::Task<Result<net::ConnectionPtr>> ConnectTo(std::shared_ptr<net::Transport> transport,
                                                net::Identity self, protocol::NodeInfo node,
                                                Duration timeout) {
  CO_TRY_ASSIGN(const net::StreamPtr stream, co_await transport->Connect(node.address, timeout));
  co_return co_await net::Greet(stream, self, node.id, timeout);
}

void Questions::Run(Duration most) {
  loop_.restart();
  if (open_ > 0) loop_.run_for(most + std::chrono::seconds(1));
  open_ = 0;
}

Error NoAnswer() { return {ErrorCode::kTimeout, "it did not answer in time"}; }

}  // namespace hoplite::cli

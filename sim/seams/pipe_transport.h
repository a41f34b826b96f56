// PipeTransport: streams within the process, all on one loop, for tests. Addresses are any text;
// "…:0" picks a free number. Keeps the contract of Stream to the letter, bounded buffers included.
#pragma once

#include <memory>

#include "net/stream.h"

namespace hoplite::net {

class PipeTransport final : public Transport {
 public:
  explicit PipeTransport(asio::io_context& loop);
  ~PipeTransport() override;

  Result<std::unique_ptr<Listener>> Listen(const std::string& address,
                                           std::function<void(StreamPtr)> on_accept) override;
  Task<Result<StreamPtr>> Connect(std::string address, Duration timeout) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hoplite::net

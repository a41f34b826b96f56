// What an open register is of: the request that opened it, on its connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <hoplite/register.h>

#include "client/connection.h"

namespace hoplite {

struct Register::State {
  State(std::shared_ptr<void> client_in, std::shared_ptr<client::Connection> connection_in,
        std::uint64_t made_by_in, std::string name_in)
      : client(std::move(client_in)),
        connection(std::move(connection_in)),
        made_by(made_by_in),
        name(std::move(name_in)) {}
  ~State() { Close(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The node answers what waits for it. Idempotent.
  void Close() const {
    if (!closed.exchange(true)) connection->Release(made_by);
  }
  template <typename T>
  Future<T> Ask(client::local::Request request, std::chrono::milliseconds timeout) const;

  const std::shared_ptr<void> client;  // leaves its node when nobody has it any more
  const std::shared_ptr<client::Connection> connection;
  const std::uint64_t made_by;
  const std::string name;
  mutable std::atomic<bool> closed{false};
};

}  // namespace hoplite

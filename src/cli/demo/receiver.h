// Receiver: one consumer of the object, attached to a node as a worker process would be. Gets the
// object in a thread of its own, notes when it had it, then hashes what it sees.
#pragma once

#include <future>
#include <optional>
#include <span>
#include <string>

#include <hoplite/client.h>

#include "base/time.h"

namespace hoplite::cli::demo {

// XXH3 with 128 bits, as hexadecimal digits.
std::string HashOf(std::span<const std::byte> bytes);

class Receiver {
 public:
  struct Received {
    double seconds = 0;  // from the start of this receiver
    std::string hash;
  };

  static Result<Receiver> Start(const std::string& node, const std::string& socket,
                                const ObjectId& object);
  ~Receiver();  // gives up
  Receiver(Receiver&&) noexcept = default;
  Receiver& operator=(Receiver&&) = delete;

  const std::string& node() const { return node_; }
  Time started() const { return started_; }
  bool finished() const;
  // Waits for the end.
  const Result<Received>& result() const { return result_.get(); }

 private:
  Receiver(std::string node, Client client, const ObjectId& object);

  std::string node_;
  Time started_;
  std::optional<Client> client_;
  std::shared_future<Result<Received>> result_;
};

}  // namespace hoplite::cli::demo

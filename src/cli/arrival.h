// Arrival: shows how far an object has come to this client's node, while another call takes it from
// there and says nothing meanwhile. The node tells the directory, which is asked.
#pragma once

#include <cstdint>
#include <semaphore>
#include <thread>

#include <hoplite/client.h>

#include "cli/progress_bar.h"

namespace hoplite::cli {

class Arrival {
 public:
  // `client` outlives it. Without a terminal, or a thread to spare, nothing is shown.
  Arrival(Client& client, const ObjectId& id, std::uint64_t size_bytes);
  ~Arrival();
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

 private:
  void Watch(const ObjectId& id);

  Client& client_;
  ProgressBar progress_;
  std::binary_semaphore over_{0};
  std::thread watching_;
};

}  // namespace hoplite::cli

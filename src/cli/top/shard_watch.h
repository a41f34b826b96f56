// ShardWatch: asks one shard, again and again, what is under way. A shard that does not answer holds
// up nothing but what is known of it. On its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "cli/top/model.h"
#include "directory/shard_port.h"
#include "net/timer.h"

namespace hoplite::cli::top {

class ShardWatch {
 public:
  // Begins at once. `told` runs after each answer, and after each question that had none within the
  // timeout; the next one is asked so long after that.
  ShardWatch(asio::io_context& loop, std::string address,
             std::unique_ptr<directory::ShardPort> port, Duration timeout, Duration between,
             std::function<void()> told);
  ~ShardWatch();
  ShardWatch(const ShardWatch&) = delete;
  ShardWatch& operator=(const ShardWatch&) = delete;

  const ShardLook& look() const { return look_; }
  bool told() const { return told_once_; }
  // Asks for this object, too, from now on; none: no more. The object is one of this shard.
  void Follow(const std::optional<ObjectId>& object);

 private:
  void AskForPage(const std::optional<ObjectId>& after);
  void Take(Result<protocol::StatusPage> page);
  void AskForFollowed();
  void Tell();
  void AskLater();

  const Duration timeout_;
  const Duration between_;
  const std::function<void()> tell_;
  const std::unique_ptr<directory::ShardPort> port_;
  net::Timer pause_;
  ShardLook look_;
  ShardLook coming_;  // page after page
  std::size_t pages_ = 0;
  std::optional<ObjectId> followed_;
  bool told_once_ = false;
};

}  // namespace hoplite::cli::top

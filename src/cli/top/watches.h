// Watches: all shards that a picture is made of, asked again and again, and the picture. On its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "cli/top/model.h"
#include "cli/top/shard_watch.h"
#include "directory/shard_port.h"
#include "directory/trace_question.h"
#include "net/security.h"
#include "wire/trace.h"

namespace hoplite::directory {
class DirectoryService;
}  // namespace hoplite::directory

namespace hoplite::cli::top {

// How one shard is asked.
struct ShardPlace {
  std::string address;
  std::shared_ptr<directory::DirectoryService> here = {};  // of this process; null: at its address
};
// At their addresses.
std::vector<ShardPlace> PlacesOf(const std::vector<std::string>& addresses);
std::unique_ptr<directory::ShardPort> PortTo(asio::io_context& loop, const ShardPlace& shard,
                                             const net::SecurityPtr& security);

struct WatchOptions {
  std::vector<ShardPlace> shards;
  net::SecurityPtr security;
  Duration timeout{};  // of each question
  Duration between{};
};

class Watches {
 public:
  // `told` runs when there is something new.
  Watches(asio::io_context& loop, const WatchOptions& options, std::function<void()> told);

  void Follow(const std::optional<ObjectId>& object);
  // A picture of what all of them said last.
  const Picture& Look();
  bool all_told() const;
  bool none_answers() const;
  bool lacks_rates() const { return model_.lacks_rates(); }

 private:
  void AskForLosses(asio::io_context& loop, const WatchOptions& options, const ShardPlace& shard);
  void NoteLosses(const Result<std::vector<wire::TraceEntry>>& decisions);

  const std::function<void()> tell_;
  Model model_;
  std::vector<std::unique_ptr<directory::TraceQuestion>> losses_;
  std::vector<std::unique_ptr<ShardWatch>> shards_;
};

}  // namespace hoplite::cli::top

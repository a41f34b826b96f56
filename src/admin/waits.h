// Waits: who waits until objects exist, on the shard's loop.
//
// Decides: when a wait is over: so many objects are complete, or so many are gone that no longer so many
// can be. Is told: which objects something happened to. Must never hold more than kMost, or keep
// anything of a wait that is over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "directory/directory_service.h"
#include "protocol/presence.h"

namespace hoplite::admin {

class Waits : public std::enable_shared_from_this<Waits> {
 public:
  using Presences = std::vector<protocol::Presence>;
  using Done = std::function<void(Result<Presences>)>;
  static constexpr std::size_t kMost = 1000;

  static std::shared_ptr<Waits> Make(std::shared_ptr<directory::DirectoryService> shard);

  // These from any thread. `done` runs once, on the shard's loop.
  //   unavailable         the shard collects what its nodes hold, or stops
  //   resource_exhausted  too many wait
  std::uint64_t Begin(std::vector<ObjectId> objects, std::size_t count, Done done);
  void End(std::uint64_t wait, const Error& why);
  // And refuses what comes later.
  void EndAll(const Error& why);

 private:
  struct Wait {
    std::vector<ObjectId> objects;
    std::size_t count = 0;
    Done done;
    Presences presences = {};
  };
  using Place = std::pair<std::uint64_t, std::size_t>;  // the wait, and which of its objects

  explicit Waits(std::shared_ptr<directory::DirectoryService> shard) : shard_(std::move(shard)) {}
  void Start(std::uint64_t number, Wait wait);
  void Look(const ObjectId& object);
  static bool Over(const Wait& wait);
  void Finish(std::uint64_t number, Result<Presences> answer);

  const std::shared_ptr<directory::DirectoryService> shard_;
  std::atomic<std::uint64_t> next_{0};
  std::map<std::uint64_t, Wait> open_;
  std::map<ObjectId, std::set<Place>> places_;
  std::optional<Error> ended_;
};

}  // namespace hoplite::admin

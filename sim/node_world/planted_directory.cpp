#include "sim/node_world/planted_directory.h"

#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace hoplite::node_world {
namespace {

using directory::DirectoryClient;
using protocol::NodeAction;
using protocol::NodeEvent;

class PlantedDirectory final : public DirectoryClient {
 public:
  PlantedDirectory(PlantedFault fault, std::unique_ptr<DirectoryClient> link)
      : fault_(fault), link_(std::move(link)) {}

  void Start(protocol::NodeInfo self, Hooks hooks) override {
    hooks.on_action = [this, hear = std::move(hooks.on_action)](const NodeAction& action) {
      if (!Loses(action)) hear(Falsified(action));
    };
    hooks.inventory = [this, tell = std::move(hooks.inventory)](
                          std::size_t shard, const auto& after, std::size_t bytes,
                          const auto& told) {
      Part part = tell(shard, after, bytes, told);
      Forget(part.events);
      return part;
    };
    hooks.inventory_of = [this, tell = std::move(hooks.inventory_of)](const ObjectId& object) {
      std::vector<NodeEvent> events = tell(object);
      Forget(events);
      return events;
    };
    link_->Start(std::move(self), std::move(hooks));
  }
  void Send(NodeEvent event) override {
    if (const auto* deletes = std::get_if<protocol::Delete>(&event)) asked_.insert(deletes->object);
    if (!Loses(event)) link_->Send(std::move(event));
  }
  std::size_t shard_count() const override { return link_->shard_count(); }
  std::optional<std::uint64_t> life(std::size_t shard) const override { return link_->life(shard); }
  std::optional<Time> vouched(std::size_t shard) const override { return link_->vouched(shard); }
  std::uint64_t shard_id(std::size_t shard) const override { return link_->shard_id(shard); }
  std::uint64_t inline_limit(std::size_t shard) const override {
    return link_->inline_limit(shard);
  }
  std::optional<Error> why_away(std::size_t shard) const override { return link_->why_away(shard); }
  Duration away_for(std::size_t shard) const override { return link_->away_for(shard); }
  void Find(const ObjectId& object, Duration timeout,
            std::function<void(Result<protocol::ObjectView>)> done) override {
    link_->Find(object, timeout, std::move(done));
  }
  void Status(std::size_t shard, const protocol::PageRequest& page, Duration timeout,
              std::function<void(Result<protocol::StatusPage>)> done) override {
    link_->Status(shard, page, timeout, std::move(done));
  }
  void Stop() override { link_->Stop(); }

 private:
  bool Loses(const NodeAction& action) const {
    if (fault_ == PlantedFault::kSkipsRecalls)
      return std::holds_alternative<protocol::Recall>(action);
    const auto* deleted = std::get_if<protocol::Deleted>(&action);
    return fault_ == PlantedFault::kKeepsDeletedCopies && deleted != nullptr &&
           !asked_.contains(deleted->object);
  }
  NodeAction Falsified(NodeAction action) const {
    auto* answer = std::get_if<protocol::EvictAnswer>(&action);
    if (fault_ == PlantedFault::kDropsWhatIsToStay && answer != nullptr) answer->drop = true;
    auto* committed = std::get_if<protocol::ReduceCommitted>(&action);
    const bool folded = committed != nullptr && committed->bytes && committed->used.size() > 1;
    if (fault_ == PlantedFault::kMisreportsFolds && folded) committed->used.pop_back();
    return action;
  }
  bool Loses(const NodeEvent& event) const {
    const auto* closed = std::get_if<protocol::GrantClosed>(&event);
    return fault_ == PlantedFault::kKeepsGrantsOpen && closed != nullptr &&
           closed->outcome == protocol::Outcome::kFailed;
  }
  // Of an inventory: open requests are not repeated.
  void Forget(std::vector<NodeEvent>& events) const {
    if (fault_ != PlantedFault::kLosesParkedRequests) return;
    std::erase_if(events, [](const NodeEvent& event) {
      return std::holds_alternative<protocol::Locate>(event) ||
             std::holds_alternative<protocol::Want>(event);
    });
  }

  const PlantedFault fault_;
  const std::unique_ptr<DirectoryClient> link_;
  std::set<ObjectId> asked_;  // this node's own Deletes
};

}  // namespace

std::unique_ptr<DirectoryClient> WithPlanted(PlantedFault fault,
                                             std::unique_ptr<DirectoryClient> link) {
  switch (fault) {
    case PlantedFault::kSkipsRecalls:
    case PlantedFault::kKeepsDeletedCopies:
    case PlantedFault::kKeepsGrantsOpen:
    case PlantedFault::kLosesParkedRequests:
    case PlantedFault::kDropsWhatIsToStay:
    case PlantedFault::kMisreportsFolds:
      return std::make_unique<PlantedDirectory>(fault, std::move(link));
    default:
      return link;
  }
}

}  // namespace hoplite::node_world

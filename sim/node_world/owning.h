// Owning: clients that own objects in the node world, and what must hold for these objects.
//
// Decides nothing of the script: whoever owns the world says when a client asks, ends, or dies with
// its node. Each client is one owner of one object, by the real calls. Two properties: P17, what a
// living client owns is not deleted unless somebody deletes it; P18, what was owned goes when the
// last client has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "node/core/operations.h"
#include "sim/node_world/member.h"

namespace hoplite::node_world {

class Owning {
 public:
  // Whether the object's shard, if it is up, has deleted it.
  using IsDeleted = std::function<bool(const ObjectId&)>;

  // A new client of the member asks to own the object; its end comes in any case later.
  void Ask(Member& member, const ObjectId& object, Time deadline);
  // A client that has not ended yet does: it disowns, closes, or its process dies. False: there is
  // none.
  bool EndOne(std::uint64_t order);
  void EndAll();
  // The member's process died, its clients with it.
  void Abandon(const Member& member);
  // Somebody may delete it: nothing is promised to its owners any more.
  void Excuse(const ObjectId& object) { excused_.insert(object); }

  // Empty, or how P17 is broken.
  std::string Broken(const IsDeleted& deleted) const;
  // It was owned, and no living client owns it any more.
  bool NobodyOwns(const ObjectId& object) const;
  // Objects that were owned, and that nobody deleted.
  std::set<ObjectId> owned() const;

 private:
  struct Client {
    Member* member = nullptr;  // null when it is gone
    ObjectId object;
    std::shared_ptr<node::Owner> owner;
    bool owns = false;   // it was answered so
    bool ended = false;  // it disowned, closed or died
  };
  using ClientPtr = std::shared_ptr<Client>;

  net::Task<void> RunAsk(ClientPtr client, node::CallPtr call);
  net::Task<void> RunDisown(ClientPtr client, node::CallPtr call);
  void End(const ClientPtr& client, std::uint64_t how);

  std::vector<ClientPtr> clients_;
  std::set<ObjectId> excused_;
  std::set<ObjectId> owned_;
};

}  // namespace hoplite::node_world

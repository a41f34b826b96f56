// JointGets: what several Gets of one caller have got, who holds all of it until the last is
// answered (R45). Togethers: all of a node's that wait for memory.
//
// Decides: whether an object could lie beside that, whatever else went; and which caller gives way
// when several wait for what only they could give back. On the node's loop only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "net/signal.h"
#include "node/local/gaps.h"
#include "store/object_store.h"

namespace hoplite::node {

class JointGets;

class Togethers {
 public:
  // If nothing that they want fits beside what all of them hold, whatever others give back, the one
  // that came last gets what it has and no more.
  void Look();

 private:
  friend class JointGets;
  using Waiting = std::vector<JointGets*>;

  Waiting WhoWants() const;
  void Held(const JointGets& by, std::uint64_t from, std::uint64_t to);
  std::uint64_t LargestGap(const Waiting& beside);

  std::map<std::uint64_t, JointGets*> waiting_;  // in the order of their coming
  std::uint64_t begun_ = 0;
  // The gaps beside what these hold, who were the last to be looked at together.
  std::vector<std::uint64_t> looked_at_;
  std::optional<Gaps> gaps_;
};

class JointGets {
  friend class Togethers;
  using Awaited = std::optional<std::uint64_t>;  // bytes; none: it has its memory
  struct Waiting {
    const Awaited& awaited;
    net::Signal& signal;
  };
  using Places = std::multimap<std::uint64_t, Waiting>;  // by how much they need

 public:
  JointGets(std::uint64_t capacity_bytes, std::shared_ptr<Togethers> all)
      : capacity_(capacity_bytes), all_(std::move(all)), number_(all_->begun_++) {}

  // It is pinned by the caller from now on.
  void Add(const store::Copy& copy);
  // Room for so many bytes in one piece, if all that others have went.
  bool leaves(std::uint64_t bytes) const { return !gives_way_ && bytes <= gaps_.largest(); }

  Error NoRoom(const ObjectId& object, std::uint64_t bytes) const;

  // While it lives, and something is awaited, the signal is notified when no room is left for it.
  class Waiter {
   public:
    Waiter(std::shared_ptr<JointGets> together, const Awaited& awaited, net::Signal& signal);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    std::uint64_t bytes() const { return place_->first; }

   private:
    const std::shared_ptr<JointGets> joint_gets_;
    const Places::iterator place_;
  };

 private:
  Awaited LeastWanted() const;
  void GiveWay();

  const std::uint64_t capacity_;
  const std::shared_ptr<Togethers> all_;
  const std::uint64_t number_;
  Gaps gaps_{capacity_};
  std::map<std::uint64_t, std::uint64_t> pinned_;  // begin and end of extents
  Places waiting_;
  bool gives_way_ = false;  // until nobody of it waits
};

}  // namespace hoplite::node

// Together: what several Gets of one caller have got, who holds all of it until the last is
// answered (R45).
//
// Decides: whether an object could lie beside that, whatever else went. On the node's loop only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "net/signal.h"
#include "store/object_store.h"

namespace hoplite::node {

class Together {
 public:
  explicit Together(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  // It is pinned by the caller from now on.
  void Add(const store::Copy& copy);
  // Room for so many bytes in one piece, if all that others have went.
  bool leaves(std::uint64_t bytes) const { return bytes <= largest_gap_; }

  Error NoRoom(const ObjectId& object, std::uint64_t bytes) const;

  // While it lives, the signal is notified when no room is left for so many bytes.
  class Waiter {
   public:
    Waiter(std::shared_ptr<Together> together, std::uint64_t bytes, net::Signal& signal);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    const std::shared_ptr<Together> together_;
    const std::multimap<std::uint64_t, net::Signal*>::iterator place_;
  };

 private:
  const std::uint64_t capacity_;
  std::uint64_t largest_gap_ = capacity_;
  std::map<std::uint64_t, std::uint64_t> pinned_;       // begin and end of extents
  std::multimap<std::uint64_t, net::Signal*> waiting_;  // by how much they need
};

}  // namespace hoplite::node

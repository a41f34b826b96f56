// LinkReports: tells the shards how busy the node's links are while bytes of more than one object go
// over them: no shard sees what others had it send (R103).
//
// Decides: when there is news. Is told: by LinkMeter what leaves, by FlightGate how many objects come.
// Must never: wake while no stream is open. Main loop only.
#pragma once

#include <cstdint>
#include <map>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "net/signal.h"
#include "node/core/context.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

class LinkReports {
 public:
  LinkReports(Context& context, DataPlane& data_plane)
      : context_(context), data_plane_(data_plane), stopped_(context.runtime.main()) {}

  net::Task<void> Run();
  void Stop();

 private:
  // What was sent within this time, and what comes now. False: nothing is under way.
  bool Tell(Duration within);
  protocol::LinkUse UseOf(const std::map<ObjectId, std::uint64_t>& sent, Duration within) const;
  bool SeveralObjects(const std::map<ObjectId, std::uint64_t>& sent) const;

  Context& context_;
  DataPlane& data_plane_;
  net::Signal stopped_;
  bool stopping_ = false;
  bool told_ = false;  // the shards know of some
};

}  // namespace hoplite::node

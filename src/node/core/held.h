// What a node tells a shard of a copy, as far as the copy itself knows.
#pragma once

#include "protocol/node_event.h"
#include "store/copy.h"

namespace hoplite::node {

inline protocol::Held HeldOf(const store::Copy& copy) {
  return {.object = copy.object(),
          .version = copy.version(),
          .layout = copy.layout(),
          .metadata = copy.metadata(),
          .marks = copy.marks(),
          .complete = copy.state() == store::CopyState::kFinal,
          .ever_owned = copy.ever_owned(),
          .on_disk = copy.on_disk()};
}

}  // namespace hoplite::node

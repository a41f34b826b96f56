// What `hoplite doctor` asks the members of a cluster: every shard for its picture, every node of its
// host, and every node whether it reaches each other one. A member that does not answer is part of
// the picture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/ids.h"
#include "base/time.h"
#include "net/security.h"
#include "protocol/views.h"
#include "wire/check_up.h"

namespace hoplite::cli {

struct ExaminedShard {
  std::string address;
  Result<protocol::StatusPage> picture;
};

struct ExaminedNode {
  protocol::NodeView view;              // as the shards told it; alive if all of them think so
  std::vector<std::size_t> strange_to;  // shards that answered and don't know it
  Result<wire::CheckUp> told;
  Duration clock_ahead{0};  // of this host's; as exact as half of `answered_in`
  Duration answered_in{0};
  std::optional<Duration> certificate = {};  // for so long it is good; none: it showed none
  std::map<std::string, Result<Duration>> reaches = {};  // by the names of the other nodes
};

struct Examination {
  std::vector<ExaminedShard> shards;
  std::vector<ExaminedNode> nodes;  // by name
};

// Takes the timeout for the shards' answers, and once more for each question to a node.
Examination Examine(const std::vector<std::string>& shards, const std::string& cluster,
                    const net::SecurityPtr& security, Duration timeout);

}  // namespace hoplite::cli

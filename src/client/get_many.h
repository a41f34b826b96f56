// Several objects, asked for together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/buffer.h>
#include <hoplite/future.h>
#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/connection.h"

namespace hoplite::client {

// Every place in `ids` once, in an order of this node's own: the nodes of an allgather, who all
// have the same list, should not ask the same holder first. (Asking for all at once is as fast as
// asking for some at a time, or faster: the directory plans better with all in sight.)
std::vector<std::size_t> OrderOfAsking(std::span<const ObjectId> ids, std::string_view node);

// What the node holds for the client, until that releases `made_by`.
struct Viewed {
  std::uint64_t made_by = 0;
  local::View view;
};
// One answer for each, in their order. A few messages, however many they are. Of ViewMany whoever asks
// has to release each view.
std::vector<Result<Viewed>> ViewMany(const std::shared_ptr<Connection>& connection,
                                     std::span<const ObjectId> ids, Time deadline,
                                     bool only_if_owned);
std::vector<Result<Buffer>> GetMany(const std::shared_ptr<Connection>& connection,
                                    std::span<const ObjectId> ids, Time deadline,
                                    bool only_if_owned);

// The same without waiting.
Future<std::vector<Result<Buffer>>> GetManyAsync(const std::shared_ptr<Connection>& connection,
                                                 std::span<const ObjectId> ids, Time deadline,
                                                 bool only_if_owned);

// The ids one after the other, as messages carry them.
std::string Concatenated(std::span<const ObjectId> ids);
// Those that an answer names by their places.
std::vector<ObjectId> Named(const local::Existing& answer, std::span<const ObjectId> ids);

}  // namespace hoplite::client

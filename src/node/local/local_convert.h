// Between messages of the local protocol and own types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

#include "hoplite/v1/local.pb.h"
#include "node/local/local_clients.h"
#include "protocol/node_action.h"
#include "protocol/views.h"
#include "store/object_store.h"

namespace hoplite::node {

void FillError(const Error& error, v1::local::Error& message);
// How many bytes from the first on are there.
std::uint64_t PrefixOf(const store::Copy& copy);
void FillView(const store::Copy& copy, v1::local::View& message);
// Of the first objects, as many as have so many bytes of room, and one at least.
void FillInfos(std::span<const Result<protocol::ObjectView>> results, std::size_t room,
               v1::local::Infos& infos);
void FillClients(const LocalClients& clients, v1::local::ClusterStatus::Clients& message);
Result<protocol::PageRequest> ReadPage(const v1::local::Status& message);
void FillReduced(const ReduceOutcome& outcome, v1::local::Reduced& message);
void FillLocation(const protocol::Location& location, v1::local::LocationChange& message);

// None for 0.
Result<std::optional<DType>> ReadDType(std::uint32_t number);
Result<ErrorCode> ReadErrorCode(std::uint32_t number);
// What a client asks for, with its target read already: numbers that are none, ids that can't be
// and too many sources are an invalid_argument that names them. The timeout is the request's.
Result<std::vector<ObjectId>> ReadObjects(const v1::local::WaitExists& message);
// Ids that lie one after the other, at least one.
Result<std::vector<ObjectId>> ReadObjects(std::string_view ids, std::size_t most);
Result<ReduceOptions> ReadReduce(const v1::local::Reduce& message, const ObjectId& target);

}  // namespace hoplite::node

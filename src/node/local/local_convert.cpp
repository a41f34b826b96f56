#include "node/local/local_convert.h"

#include <string>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/limits.h"
#include "base/reduce_types.h"
#include "base/shown_text.h"
#include "base/try.h"
#include "protocol/elements.h"
#include "protocol/object_name.h"
#include "wire/local_protocol.h"
#include "wire/pictures.h"

namespace hoplite::node {
namespace {

std::unexpected<Error> Invalid(std::string what) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, std::move(what)));
}

Result<std::vector<ObjectId>> ReadIds(const char* what,
                                      const google::protobuf::RepeatedPtrField<std::string>& ids) {
  std::vector<ObjectId> read;
  read.reserve(static_cast<std::size_t>(ids.size()));
  for (const std::string& bytes : ids) {
    const auto id = ObjectId::FromBytes(bytes);
    if (!id || *id == ObjectId()) {
      return Invalid(fmt::format("{} {} of {} is no id: an id has 20 bytes, not all zero", what,
                                 read.size() + 1, ids.size()));
    }
    read.push_back(*id);
  }
  return read;
}

std::string VersionText(const Version& version) { return version ? ToString(version) : ""; }

}  // namespace

void FillError(const Error& error, v1::local::Error& message) {
  message.set_code(static_cast<std::uint32_t>(error.code));
  message.set_message(ShownText(error.message));
}

Result<std::optional<DType>> ReadDType(std::uint32_t number) {
  if (number == 0) return std::nullopt;
  return DTypeNumbered(number);
}

Result<ErrorCode> ReadErrorCode(std::uint32_t number) {
  const bool known = number >= 1 && number <= static_cast<std::uint32_t>(kLastErrorCode);
  if (known) return static_cast<ErrorCode>(number);
  return Invalid(fmt::format("{} is not the number of any error code", number));
}

std::uint64_t PrefixOf(const store::Copy& copy) {
  return copy.layout().contiguous_prefix(copy.marks());
}

void FillView(const store::Copy& copy, v1::local::View& message) {
  message.set_offset(copy.segment_offset());
  message.set_size(copy.layout().size_bytes);
  message.set_metadata(std::string(protocol::UsersPart(copy.metadata())));
  message.set_final(copy.state() == store::CopyState::kFinal);
  message.set_prefix(PrefixOf(copy));
  if (copy.windowed()) message.set_window(copy.bytes().size());
}

void FillInfos(std::span<const Result<protocol::ObjectView>> results, std::size_t room,
               v1::local::Infos& infos) {
  constexpr std::size_t kFrameOfOne = 16;
  for (const auto& result : results) {
    auto& got = *infos.add_got();
    if (result) {
      *got.mutable_info() = wire::ToProto(*result);
    } else {
      FillError(result.error(), *got.mutable_error());
    }
    const std::size_t bytes = got.ByteSizeLong() + kFrameOfOne;
    if (bytes <= room) {
      room -= bytes;
      continue;
    }
    infos.mutable_got()->RemoveLast();
    if (infos.got_size() > 0) return;
    FillError(Error(ErrorCode::kResourceExhausted,
                    "what is known of the object is too large for one answer"),
              *infos.add_got()->mutable_error());
  }
}

void FillClients(const LocalClients& clients, v1::local::ClusterStatus::Clients& message) {
  const ClientUse total = clients.total();
  const ClientUse most = clients.most();
  message.set_clients(clients.count());
  message.set_requests(total.requests);
  message.set_pins(total.pins);
  message.set_most_requests(most.requests);
  message.set_most_pins(most.pins);
  message.set_requests_per_client(clients.limits().requests);
  message.set_pins_per_client(clients.limits().pins);
  const Holdings::Use held = clients.most_held();
  message.set_most_held_bytes(held.bytes);
  message.set_most_held_objects(held.objects);
  message.set_quota_bytes(clients.limits().quota.bytes);
  message.set_quota_objects(clients.limits().quota.objects);
}

Result<protocol::PageRequest> ReadPage(const v1::local::Status& message) {
  protocol::PageRequest page;
  if (!message.after().empty()) {
    TRY_ASSIGN(page.after, ObjectId::FromBytes(message.after()));
  }
  if (message.limit() > 0) page.limit = message.limit();
  return page;
}

void FillReduced(const ReduceOutcome& outcome, v1::local::Reduced& message) {
  for (const ObjectId& used : outcome.used) message.add_used(std::string(used.view()));
  for (const ObjectId& unused : outcome.unused) message.add_unused(std::string(unused.view()));
}

void FillLocation(const protocol::Location& location, v1::local::LocationChange& message) {
  message.set_kind(static_cast<std::uint32_t>(location.kind));
  message.set_node(location.node_name);
  message.set_version(VersionText(location.version));
}

Result<std::vector<ObjectId>> ReadObjects(const v1::local::WaitExists& message) {
  const auto count = static_cast<std::size_t>(message.objects_size());
  if (count > wire::kMaxWaitExists) {
    return Invalid(fmt::format("{} objects; at most {} are allowed", count, wire::kMaxWaitExists));
  }
  if (message.count() > count) {
    return Invalid(fmt::format("{} are to exist, of {} objects", message.count(), count));
  }
  return ReadIds("object", message.objects());
}

Result<std::vector<ObjectId>> ReadObjects(std::string_view ids, std::size_t most) {
  constexpr std::size_t kBytes = ObjectId::kBytes;
  if (ids.empty() || ids.size() % kBytes != 0 || ids.size() / kBytes > most) {
    return Invalid(fmt::format("{} bytes are not from 1 to {} ids of {} bytes each", ids.size(),
                               most, kBytes));
  }
  std::vector<ObjectId> read;
  read.reserve(ids.size() / kBytes);
  for (std::size_t at = 0; at < ids.size(); at += kBytes) {
    TRY_ASSIGN(read.emplace_back(), ObjectId::FromBytes(ids.substr(at, kBytes)));
    if (read.back() == ObjectId()) return Invalid("the all-zero id names no object");
  }
  return read;
}

Result<ReduceOptions> ReadReduce(const v1::local::Reduce& message, const ObjectId& target) {
  ReduceOptions options;
  TRY_ASSIGN(options.op, OpNumbered(message.op()));
  TRY_ASSIGN(options.dtype, ReadDType(message.dtype()));
  const auto count = static_cast<std::size_t>(message.sources_size());
  if (count > kMaxReduceSources) {
    return Invalid(fmt::format("{} sources; at most {} are allowed", count, kMaxReduceSources));
  }
  TRY_ASSIGN(options.sources, ReadIds("source", message.sources()));
  options.folded_bytes = message.folded_bytes();
  if (message.has_num_objects()) options.num_objects = message.num_objects();
  options.target = target;
  options.metadata = message.metadata();
  // It is for people, and has no right to make too much of what is not.
  std::string named = protocol::WithName(message.name(), message.metadata());
  if (named.size() <= kMaxMetadataBytes) options.metadata = std::move(named);
  if (message.has_alike()) options.alike = message.alike();
  options.root_here = message.root_here();
  options.fixed_order = message.fixed_order();
  options.degree = message.degree();
  options.everyone_reads = message.everyone_reads();
  options.owned = message.owned();
  options.only_if_owned = message.only_if_owned();
  return options;
}

}  // namespace hoplite::node

// The C interface: what is known of an object, now and as it changes; a node that is drained.
#include <algorithm>
#include <cstring>

#include "client/c/handles.h"

using namespace hoplite;
using c::Answer;
using c::NotNull;

static_assert(HOPLITE_LOCATION_PARTIAL == static_cast<int>(LocationKind::kPartial));
static_assert(HOPLITE_LOCATION_COMPLETE == static_cast<int>(LocationKind::kComplete));
static_assert(HOPLITE_LOCATION_GONE == static_cast<int>(LocationKind::kGone));
static_assert(HOPLITE_LOCATION_IN_DIRECTORY == static_cast<int>(LocationKind::kInDirectory));

int hoplite_get_info(hoplite_client* client, const hoplite_id* id, std::int64_t timeout_ms,
                     hoplite_info** info) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", info, "info"));
    return c::Give(client->client.Info(c::ToId(*id), c::Options(0, timeout_ms)), info);
  });
}

std::uint64_t hoplite_info_size(const hoplite_info* info) {
  return info == nullptr ? 0 : info->info.size_bytes;
}

size_t hoplite_info_owners(const hoplite_info* info) {
  return info == nullptr ? 0 : info->info.owners;
}

int hoplite_info_in_directory(const hoplite_info* info) {
  return info != nullptr && info->info.in_directory ? 1 : 0;
}

const void* hoplite_info_metadata(const hoplite_info* info, size_t* size) {
  if (size != nullptr) *size = info == nullptr ? 0 : info->info.metadata.size();
  return info == nullptr ? nullptr : info->info.metadata.data();
}

size_t hoplite_info_holders(const hoplite_info* info) {
  return info == nullptr ? 0 : info->info.holders.size();
}

const char* hoplite_info_holder(const hoplite_info* info, size_t index,
                                std::uint64_t* valid_bytes) {
  if (index >= hoplite_info_holders(info)) return nullptr;
  const HolderInfo& holder = info->info.holders[index];
  if (valid_bytes != nullptr) *valid_bytes = holder.valid_bytes;
  return holder.node.c_str();
}

void hoplite_info_free(hoplite_info* info) { delete info; }

int hoplite_why(hoplite_client* client, const hoplite_id* id, std::int64_t timeout_ms,
                char** text) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", text, "text"));
    TRY_ASSIGN(const std::string why, client->client.Why(c::ToId(*id), c::Options(0, timeout_ms)));
    *text = std::ranges::copy(why, new char[why.size() + 1]()).out - why.size();
    return {};
  });
}

void hoplite_text_free(char* text) { delete[] text; }

int hoplite_get_status(hoplite_client* client, std::int64_t timeout_ms, hoplite_status** status) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", status, "status"));
    return c::Give(client->client.Status(c::Options(0, timeout_ms), 0), status);
  });
}

std::uint64_t hoplite_status_objects(const hoplite_status* status) {
  return status == nullptr ? 0 : status->status.object_count();
}

size_t hoplite_status_nodes(const hoplite_status* status) {
  return status == nullptr ? 0 : status->status.nodes.size();
}

int hoplite_status_node(const hoplite_status* status, size_t index, hoplite_node_status* node) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(status, "status", node, "node"));
    if (index >= status->status.nodes.size()) {
      return Unexpected(Error(ErrorCode::kNotFound, "there is no node of this number"));
    }
    const NodeStatus& one = status->status.nodes[index];
    *node = {.name = one.name.c_str(),
             .address = one.address.c_str(),
             .alive = one.alive ? 1 : 0,
             .memory_bytes = one.memory_bytes,
             .used_bytes = one.used_bytes,
             .bytes_per_second = one.bytes_per_second};
    return {};
  });
}

void hoplite_status_free(hoplite_status* status) { delete status; }

int hoplite_subscribe(hoplite_client* client, const hoplite_id* id, std::int64_t timeout_ms,
                      hoplite_subscription** subscription) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", subscription, "subscription"));
    return c::Give(client->client.Subscribe(c::ToId(*id), c::Options(0, timeout_ms)), subscription);
  });
}

int hoplite_subscription_next(hoplite_subscription* subscription, std::int64_t timeout_ms,
                              hoplite_location* location) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(subscription, "subscription", location, "location"));
    TRY_ASSIGN(const LocationChange change,
               subscription->subscription.Next(c::Timeout(timeout_ms)));
    *location = {.kind = static_cast<std::int32_t>(change.kind), .node = {}};
    const std::size_t length = std::min(change.node.size(), sizeof location->node - 1);
    std::memcpy(location->node, change.node.data(), length);
    return {};
  });
}

void hoplite_subscription_free(hoplite_subscription* subscription) { delete subscription; }

int hoplite_drain(hoplite_client* client, std::int64_t timeout_ms, hoplite_drained** drained) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", drained, "drained"));
    return c::Give(client->client.Drain(c::Timeout(timeout_ms)), drained);
  });
}

std::uint64_t hoplite_drained_handed_on(const hoplite_drained* drained) {
  return drained == nullptr ? 0 : drained->outcome.handed_on;
}

std::uint64_t hoplite_drained_left(const hoplite_drained* drained) {
  return drained == nullptr ? 0 : drained->outcome.left_count;
}

int hoplite_drained_why(const hoplite_drained* drained, size_t index, hoplite_id* id,
                        const char** sentence) {
  if (drained == nullptr || index >= drained->outcome.left.size()) return HOPLITE_OK;
  const LeftObject& left = drained->outcome.left[index];
  if (id != nullptr) *id = c::FromId(left.id);
  if (sentence != nullptr) *sentence = left.why.message.c_str();
  return static_cast<int>(left.why.code);
}

void hoplite_drained_free(hoplite_drained* drained) { delete drained; }

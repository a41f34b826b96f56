// The C interface: a client, and what it does with objects while the caller waits.
#include <cstddef>
#include <span>
#include <utility>

#include "client/c/handles.h"

using namespace hoplite;
using c::Answer;
using c::NotNull;

namespace {

std::span<const std::byte> BytesAt(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

int hoplite_connect(const char* socket, std::int64_t timeout_ms, hoplite_client** client) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(socket, "socket", client, "client"));
    return c::Give(Client::Connect(socket, c::Timeout(timeout_ms)), client);
  });
}

void hoplite_client_close(hoplite_client* client) {
  if (client != nullptr) client->client.Close();
}

void hoplite_client_free(hoplite_client* client) { delete client; }

int hoplite_put(hoplite_client* client, hoplite_id* id, const void* data, size_t size,
                const void* metadata, size_t metadata_size, unsigned flags,
                std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id"));
    if (size > 0) TRY(NotNull(data, "data"));
    TRY(c::CheckPutFlags(flags));
    const PutOptions options = c::ForPut(*id, metadata, metadata_size, flags, timeout_ms);
    TRY(client->client.Put(BytesAt(data, size), options));
    *id = c::FromId(options.id);
    return {};
  });
}

int hoplite_create(hoplite_client* client, hoplite_id* id, size_t size, const void* metadata,
                   size_t metadata_size, unsigned flags, std::int64_t timeout_ms,
                   hoplite_draft** draft) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", draft, "draft"));
    TRY(c::CheckPutFlags(flags));
    const PutOptions put = c::ForPut(*id, metadata, metadata_size, flags, timeout_ms);
    TRY(c::Give(client->client.Create(put.id, size,
                                      {.metadata = put.metadata,
                                       .dtype = put.dtype,
                                       .owned = put.owned,
                                       .only_if_owned = put.only_if_owned,
                                       .timeout = put.timeout}),
                draft));
    *id = c::FromId(put.id);
    return {};
  });
}

int hoplite_fail(hoplite_client* client, const hoplite_id* id, int code, const char* message,
                 unsigned flags, std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", message, "message"));
    TRY(c::CheckFlags(flags, HOPLITE_OWNED | HOPLITE_ONLY_IF_OWNED));
    if (!std::in_range<std::uint8_t>(code) || code == HOPLITE_OK) {
      return Unexpected(Error(ErrorCode::kInvalidArgument, "the code is that of no error"));
    }
    return client->client.Fail(c::ToId(*id), Error(static_cast<ErrorCode>(code), message),
                               {.owned = (flags & HOPLITE_OWNED) != 0,
                                .only_if_owned = (flags & HOPLITE_ONLY_IF_OWNED) != 0,
                                .timeout = c::Timeout(timeout_ms)});
  });
}

void* hoplite_draft_data(hoplite_draft* draft) {
  return draft == nullptr ? nullptr : draft->draft.data().data();
}

size_t hoplite_draft_size(const hoplite_draft* draft) {
  return draft == nullptr ? 0 : draft->draft.data().size();
}

int hoplite_draft_advance(hoplite_draft* draft, size_t prefix) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(draft, "draft"));
    return draft->draft.Advance(prefix);
  });
}

int hoplite_draft_seal(hoplite_draft* draft, std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(draft, "draft"));
    return draft->draft.Seal(c::Timeout(timeout_ms));
  });
}

void hoplite_draft_abort(hoplite_draft* draft) {
  if (draft != nullptr) draft->draft.Abort();
}

void hoplite_draft_free(hoplite_draft* draft) { delete draft; }

int hoplite_get(hoplite_client* client, const hoplite_id* id, unsigned flags,
                std::int64_t timeout_ms, hoplite_buffer** buffer) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", buffer, "buffer"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    return c::Give(client->client.Get(c::ToId(*id), c::Options(flags, timeout_ms)), buffer);
  });
}

const void* hoplite_buffer_data(const hoplite_buffer* buffer) {
  return buffer == nullptr ? nullptr : buffer->buffer.bytes().data();
}

size_t hoplite_buffer_size(const hoplite_buffer* buffer) {
  return buffer == nullptr ? 0 : buffer->buffer.bytes().size();
}

const void* hoplite_buffer_metadata(const hoplite_buffer* buffer, size_t* size) {
  if (size != nullptr) *size = buffer == nullptr ? 0 : buffer->buffer.metadata().size();
  return buffer == nullptr ? nullptr : buffer->buffer.metadata().data();
}

void hoplite_buffer_free(hoplite_buffer* buffer) { delete buffer; }

int hoplite_get_into(hoplite_client* client, const hoplite_id* id, void* into, size_t capacity,
                     unsigned flags, std::int64_t timeout_ms, size_t* size) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id"));
    if (capacity > 0) TRY(NotNull(into, "into"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    TRY_ASSIGN(
        const std::uint64_t got,
        client->client.GetInto(c::ToId(*id), std::span(static_cast<std::byte*>(into), capacity),
                               c::Options(flags, timeout_ms)));
    if (size != nullptr) *size = got;
    return {};
  });
}

int hoplite_get_many(hoplite_client* client, const hoplite_id* ids, size_t count, unsigned flags,
                     std::int64_t timeout_ms, hoplite_buffer** buffers, int* codes) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client"));
    if (count > 0) TRY(NotNull(ids, "ids", buffers, "buffers", codes, "codes"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    Result<void> first;
    auto all = client->client.GetMany(c::ToIds(ids, count), c::Options(flags, timeout_ms));
    for (std::size_t i = 0; i < count; ++i) {
      codes[i] = all[i] ? HOPLITE_OK : static_cast<int>(all[i].error().code);
      buffers[i] = all[i] ? new hoplite_buffer{*std::move(all[i])} : nullptr;
      if (codes[i] != HOPLITE_OK && first) first = Unexpected(all[i].error());
    }
    return first;
  });
}

int hoplite_wait(hoplite_client* client, const hoplite_id* ids, size_t count, size_t wanted,
                 unsigned flags, std::int64_t timeout_ms, std::uint8_t* exists) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client"));
    if (count > 0) TRY(NotNull(ids, "ids", exists, "exists"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    const std::vector<ObjectId> all = c::ToIds(ids, count);
    TRY_ASSIGN(const std::vector<ObjectId> existing,
               client->client.WaitExists(all, wanted, c::Options(flags, timeout_ms)));
    c::Mark(all, existing, exists);
    return {};
  });
}

int hoplite_own(hoplite_client* client, const hoplite_id* id, std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id"));
    return client->client.Own(c::ToId(*id), c::Options(0, timeout_ms));
  });
}

int hoplite_disown(hoplite_client* client, const hoplite_id* id, std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id"));
    return client->client.Disown(c::ToId(*id), c::Options(0, timeout_ms));
  });
}

int hoplite_delete(hoplite_client* client, const hoplite_id* ids, size_t count,
                   std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client"));
    if (count > 0) TRY(NotNull(ids, "ids"));
    return client->client.Delete(c::ToIds(ids, count), {.timeout = c::Timeout(timeout_ms)});
  });
}

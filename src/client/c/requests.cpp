// The C interface: requests under way, and completions.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <sys/eventfd.h>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "client/c/handles.h"

using namespace hoplite;
using c::Answer;
using c::NotNull;

namespace {

Error Wrong(const char* what) { return {ErrorCode::kInvalidArgument, what}; }

// A new handle of what was begun; there are errors of it only later, but for a reduction.
void GiveRequest(hoplite_request made, hoplite_request** request) {
  *request = new hoplite_request(std::move(made));
}

Result<void> Wait(const hoplite_request& request, std::chrono::milliseconds timeout) {
  return std::visit(
      [&](const auto& one) { return one.Wait(timeout).transform([](const auto&) {}); },
      request.what);
}

void OnReady(const hoplite_request& request, std::function<void()> fn) {
  std::visit([&](const auto& one) { one.OnReady(std::move(fn)); }, request.what);
}

}  // namespace

// Shared by the handle and by the requests that were added.
struct hoplite_completions {
  struct State {
    FileDescriptor event;  // readable while `ready` has some
    Mutex mutex;
    std::deque<void*> ready HOPLITE_GUARDED_BY(mutex);

    void Push(void* tag) {
      const MutexLock lock(mutex);
      if (ready.empty()) ::eventfd_write(event.get(), 1);
      ready.push_back(tag);
    }
    std::optional<void*> Next() {
      const MutexLock lock(mutex);
      if (ready.empty()) return std::nullopt;
      void* tag = ready.front();
      ready.pop_front();
      eventfd_t taken = 0;
      if (ready.empty()) ::eventfd_read(event.get(), &taken);
      return tag;
    }
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

int hoplite_put_async(hoplite_client* client, hoplite_id* id, const void* data, size_t size,
                      const void* metadata, size_t metadata_size, unsigned flags,
                      std::int64_t timeout_ms, hoplite_request** request) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", request, "request"));
    if (size > 0) TRY(NotNull(data, "data"));
    TRY(c::CheckPutFlags(flags));
    const PutOptions options = c::ForPut(*id, metadata, metadata_size, flags, timeout_ms);
    const std::span bytes(static_cast<const std::byte*>(data), size);
    GiveRequest({.what = client->client.PutAsync(bytes, options)}, request);
    *id = c::FromId(options.id);
    return {};
  });
}

int hoplite_get_async(hoplite_client* client, const hoplite_id* id, unsigned flags,
                      std::int64_t timeout_ms, hoplite_request** request) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", request, "request"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    GiveRequest({.what = client->client.GetAsync(c::ToId(*id), c::Options(flags, timeout_ms))},
                request);
    return {};
  });
}

int hoplite_get_into_async(hoplite_client* client, const hoplite_id* id, void* into,
                           size_t capacity, unsigned flags, std::int64_t timeout_ms,
                           hoplite_request** request) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", id, "id", request, "request"));
    if (capacity > 0) TRY(NotNull(into, "into"));
    TRY(c::CheckFlags(flags, HOPLITE_ONLY_IF_OWNED));
    const std::span room(static_cast<std::byte*>(into), capacity);
    GiveRequest(
        {.what = client->client.GetIntoAsync(c::ToId(*id), room, c::Options(flags, timeout_ms))},
        request);
    return {};
  });
}

int hoplite_reduce(hoplite_client* client, const hoplite_id* sources, size_t count,
                   size_t num_objects, const char* op, const char* dtype, hoplite_id* target,
                   unsigned flags, std::int64_t timeout_ms, hoplite_request** request) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(client, "client", sources, "sources", op, "op", target, "target", request,
                "request"));
    TRY(c::CheckFlags(flags, HOPLITE_OWNED | HOPLITE_ONLY_IF_OWNED | HOPLITE_EVERYONE_READS |
                                 HOPLITE_FIXED_ORDER | HOPLITE_ROOT_HERE));
    ReduceOptions options;
    options.sources = c::ToIds(sources, count);
    TRY_ASSIGN(options.op, ParseOp(op));
    if (dtype != nullptr) {
      TRY_ASSIGN(options.dtype, ParseDType(dtype));
    }
    if (num_objects > 0) options.num_objects = num_objects;
    options.target = c::ToId(*target);
    options.root_here = (flags & HOPLITE_ROOT_HERE) != 0;
    options.fixed_order = (flags & HOPLITE_FIXED_ORDER) != 0;
    options.everyone_reads = (flags & HOPLITE_EVERYONE_READS) != 0;
    options.owned = (flags & HOPLITE_OWNED) != 0;
    options.only_if_owned = (flags & HOPLITE_ONLY_IF_OWNED) != 0;
    options.timeout = c::Timeout(timeout_ms);
    TRY_ASSIGN(Reduction made, client->client.Reduce(options));
    const ObjectId chosen = made.target();
    GiveRequest({.what = std::move(made), .sources = std::move(options.sources)}, request);
    *target = c::FromId(chosen);
    return {};
  });
}

int hoplite_request_ready(const hoplite_request* request) {
  if (request == nullptr) return 0;
  return std::visit([](const auto& one) { return one.ready(); }, request->what) ? 1 : 0;
}

int hoplite_request_wait(hoplite_request* request, std::int64_t timeout_ms) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(request, "request"));
    return Wait(*request, c::Timeout(timeout_ms));
  });
}

int hoplite_request_buffer(hoplite_request* request, hoplite_buffer** buffer) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(request, "request", buffer, "buffer"));
    const auto* get = std::get_if<hoplite_request::Get>(&request->what);
    if (get == nullptr) return Unexpected(Wrong("the request is no get: it has no buffer"));
    return c::Give(get->Wait(c::Timeout(0)), buffer);
  });
}

int hoplite_request_size(hoplite_request* request, size_t* size) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(request, "request", size, "size"));
    const auto* get = std::get_if<hoplite_request::GetInto>(&request->what);
    if (get == nullptr) return Unexpected(Wrong("the request is no get_into: it has no size"));
    TRY_ASSIGN(*size, get->Wait(c::Timeout(0)));
    return {};
  });
}

int hoplite_request_used(hoplite_request* request, std::uint8_t* used) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(request, "request", used, "used"));
    const auto* reduction = std::get_if<Reduction>(&request->what);
    if (reduction == nullptr) return Unexpected(Wrong("the request is no reduction"));
    TRY_ASSIGN(const ReduceOutcome outcome, reduction->Wait(c::Timeout(0)));
    c::Mark(request->sources, outcome.used, used);
    return {};
  });
}

void hoplite_request_cancel(hoplite_request* request) {
  if (request != nullptr) std::visit([](auto& one) { one.Cancel(); }, request->what);
}

void hoplite_request_free(hoplite_request* request) { delete request; }

int hoplite_request_on_ready(hoplite_request* request, void (*fn)(void* argument), void* argument) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(request, "request", fn, "fn"));
    OnReady(*request, [fn, argument] { fn(argument); });
    return {};
  });
}

int hoplite_completions_new(hoplite_completions** completions) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(completions, "completions"));
    auto made = std::make_unique<hoplite_completions>();
    made->state->event = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (made->state->event.get() < 0) {
      return Unexpected(Error(ErrorCode::kResourceExhausted, "no descriptor is left"));
    }
    *completions = made.release();
    return {};
  });
}

int hoplite_completions_descriptor(const hoplite_completions* completions) {
  return completions == nullptr ? -1 : completions->state->event.get();
}

int hoplite_completions_add(hoplite_completions* completions, hoplite_request* request, void* tag) {
  return Answer([&]() -> Result<void> {
    TRY(NotNull(completions, "completions", request, "request"));
    OnReady(*request, [state = completions->state, tag] { state->Push(tag); });
    return {};
  });
}

int hoplite_completions_next(hoplite_completions* completions, void** tag) {
  if (completions == nullptr || tag == nullptr) return 0;
  const std::optional<void*> next = completions->state->Next();
  if (next) *tag = *next;
  return next ? 1 : 0;
}

void hoplite_completions_free(hoplite_completions* completions) { delete completions; }

// The requests that put, get, read and reduce objects.
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/object_names.h"
#include "base/try.h"
#include "node/local/copy_watch.h"
#include "node/local/local_convert.h"
#include "node/local/local_session.h"
#include "node/local/request_errors.h"
#include "protocol/elements.h"
#include "protocol/failure.h"
#include "protocol/object_name.h"

namespace hoplite::node {
namespace {

Result<void> CheckMetadata(const std::string& metadata) {
  if (metadata.starts_with(protocol::kFailureMark)) {
    return std::unexpected(InvalidRequest(
        "this metadata begins as that of a failed object does: to make one call Fail"));
  }
  if (metadata.starts_with(protocol::kElementsMark)) {
    return std::unexpected(
        InvalidRequest("this metadata begins as the note of a dtype does: give it as the dtype"));
  }
  if (metadata.starts_with(protocol::kNameMark)) {
    return std::unexpected(
        InvalidRequest("this metadata begins as the note of an object's name does"));
  }
  if (metadata.size() <= kMaxMetadataBytes) return {};
  return std::unexpected(InvalidRequest(fmt::format("metadata of {} bytes; at most {} are allowed",
                                                    metadata.size(), kMaxMetadataBytes)));
}

Result<void> CheckName(const std::string& name) {
  if (name.size() <= kMaxObjectNameBytes) return {};
  return std::unexpected(InvalidRequest(
      fmt::format("a name of {} bytes; at most {} are allowed", name.size(), kMaxObjectNameBytes)));
}

// What a Put or a Create says of its object.
Result<std::string> MetadataOf(const auto& body) {
  TRY(CheckName(body.name()));
  TRY(CheckMetadata(body.metadata()));
  TRY_ASSIGN(const auto dtype, ReadDType(body.dtype()));
  return protocol::WithName(body.name(), protocol::WithElements(dtype, body.metadata()));
}

Result<std::string> MetadataOfFailure(const local::Put& body) {
  TRY(CheckName(body.name()));
  if (!body.contents().empty() || !body.metadata().empty()) {
    return std::unexpected(InvalidRequest("a failed object has neither bytes nor metadata"));
  }
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(body.failure().code()));
  return protocol::WithName(body.name(),
                            protocol::FailureMetadata(Error(code, body.failure().message())));
}

Error WhyVoid(const store::Copy& copy) {
  const std::string object = "object " + copy.object().ToHex();
  switch (copy.void_reason()) {
    case store::VoidReason::kDeleted:
      return {ErrorCode::kDeleted, object + " was deleted"};
    case store::VoidReason::kLost:
      return {ErrorCode::kPeerLost, object + ": the nodes that held it were lost"};
    default:
      return {ErrorCode::kRecalled, object + ": the version that was read was replaced"};
  }
}

// The reader has read on: what it took makes room.
Result<void> Take(store::Copy& window, const local::Await& body) {
  if (body.taken() > PrefixOf(window)) {
    return std::unexpected(InvalidRequest(
        fmt::format("{} bytes were taken of {} that are there", body.taken(), PrefixOf(window))));
  }
  window.Take(body.taken());
  if (body.prefix() <= window.room_end()) return {};
  return std::unexpected(InvalidRequest(fmt::format(
      "{} bytes are asked of a window that ends at {}", body.prefix(), window.room_end())));
}

Error Gone() { return {ErrorCode::kCancelled, "the client is gone"}; }

net::Task<Result<std::uint64_t>> AwaitPrefix(Operations& operations, store::CopyPtr copy,
                                             std::uint64_t wanted, CallPtr call) {
  const std::uint64_t size = copy->layout().size_bytes;
  if (wanted > size) {
    co_return std::unexpected(
        InvalidRequest(fmt::format("{} bytes are asked of an object of {}", wanted, size)));
  }
  const CopyWatch watch(copy, wanted, *call);
  const Time begun = Now();
  for (;;) {
    if (copy->state() == store::CopyState::kVoid) co_return std::unexpected(WhyVoid(*copy));
    const std::uint64_t prefix = PrefixOf(*copy);
    const bool final = copy->state() == store::CopyState::kFinal;
    if (wanted == size ? final : prefix >= wanted) co_return prefix;
    bool in_time = !call->cancelled;
    if (in_time) in_time = co_await call->changed.Wait(call->deadline);
    if (!in_time) {
      co_return std::unexpected(co_await operations.GaveUp(copy->object(), call, begun));
    }
  }
}

// A grace is of what is owned.
Result<void> CheckGrace(const Call& call, bool owned) {
  if (!call.grace || owned) return {};
  return std::unexpected(InvalidRequest("a grace is given, but what is made is not to be owned"));
}

}  // namespace

LocalSession::Handled LocalSession::Put(const local::Put& body, ObjectId object, CallPtr call) {
  CO_TRY_ASSIGN(std::string metadata,
                body.has_failure() ? MetadataOfFailure(body) : MetadataOf(body));
  const std::string& bytes = body.contents();
  call->owned = body.owned();
  call->only_if_owned = body.only_if_owned();
  CO_TRY(CheckGrace(*call, body.owned()));
  CO_TRY(holdings().Allow(bytes.size()));
  CO_TRY_ASSIGN(const std::shared_ptr<Draft> draft,
                co_await operations_.Create(object, bytes.size(), std::move(metadata), call));
  CO_TRY(holdings().Make(draft->copy()));
  if (!bytes.empty()) std::memcpy(draft->copy()->bytes().data(), bytes.data(), bytes.size());
  CO_TRY(draft->Advance(bytes.size(), {}));
  co_return co_await draft->Seal(call);
}

LocalSession::Handled LocalSession::Create(const local::Request& request, ObjectId object,
                                           CallPtr call, local::Answer& answer) {
  const local::Create& body = request.create();
  CO_TRY_ASSIGN(std::string metadata, MetadataOf(body));
  if (peer_ && !peer_->same_user() && !clients().limits().others_write) {
    co_return std::unexpected(
        InvalidRequest("only processes of the node's user may write into its memory: start the "
                       "node with --socket-group"));
  }
  call->owned = body.owned();
  call->only_if_owned = body.only_if_owned();
  CO_TRY(CheckGrace(*call, body.owned()));
  CO_TRY(holdings().Allow(body.size()));
  CO_TRY_ASSIGN(std::shared_ptr<Draft> draft,
                co_await operations_.Create(object, body.size(), std::move(metadata), call));
  if (ended_) co_return std::unexpected(Gone());
  CO_TRY(holdings().Make(draft->copy()));
  CO_TRY_ASSIGN(store::CopyPtr copy, holdings().Pin(draft->copy()));
  answer.mutable_draft_ready()->set_offset(draft->copy()->segment_offset());
  answer.mutable_draft_ready()->set_block_bytes(draft->copy()->layout().block_bytes);
  co_return Keep(request.id(), DraftEntry{.draft = std::move(draft), .copy = std::move(copy)});
}

LocalSession::Handled LocalSession::Seal(const local::Seal& body, CallPtr call) {
  const auto* entry = Find<DraftEntry>(body.draft());
  if (entry == nullptr)
    co_return std::unexpected(InvalidRequest("this draft was sealed or aborted"));
  const std::shared_ptr<Draft> draft = entry->draft;
  CO_TRY(co_await draft->Seal(std::move(call)));
  entries_.erase(body.draft());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Get(const local::Request& request, ObjectId object,
                                        CallPtr call, local::Answer& answer) {
  call->only_if_owned = request.get().only_if_owned();
  CO_TRY_ASSIGN(const store::CopyPtr got, co_await operations_.Get(object, std::move(call)));
  if (ended_) co_return std::unexpected(Gone());
  CO_TRY_ASSIGN(store::CopyPtr copy, holdings().Pin(got));
  FillView(*copy, *answer.mutable_view());
  co_return Keep(request.id(), View{.copy = std::move(copy), .together = nullptr});
}

LocalSession::Handled LocalSession::Open(const local::Request& request, ObjectId object,
                                         CallPtr call, local::Answer& answer) {
  call->only_if_owned = request.open().only_if_owned();
  auto opening = request.open().window() ? operations_.OpenWindow(object, call)
                                         : operations_.Open(object, call);
  CO_TRY_ASSIGN(const store::CopyPtr opened, co_await std::move(opening));
  if (ended_) co_return std::unexpected(Gone());
  CO_TRY_ASSIGN(store::CopyPtr copy, holdings().Pin(opened));
  call->deadline = kNever;  // it was for the opening; the fetch goes on until the reader's release
  FillView(*copy, *answer.mutable_view());
  co_return Keep(request.id(), ReaderEntry{.copy = std::move(copy), .fetch = std::move(call)});
}

LocalSession::Handled LocalSession::Await(const local::Await& body, CallPtr call,
                                          local::Answer& answer) {
  auto* reader = Find<ReaderEntry>(body.reader());
  if (reader == nullptr) co_return std::unexpected(InvalidRequest("this reader was closed"));
  if (reader->awaited) {
    co_return std::unexpected(InvalidRequest("this reader is waiting already"));
  }
  const store::CopyPtr copy = reader->copy;
  if (copy->windowed()) CO_TRY(Take(*copy, body));
  reader->awaited = true;
  Result<std::uint64_t> prefix =
      co_await AwaitPrefix(operations_, copy, body.prefix(), std::move(call));
  if (auto* still = Find<ReaderEntry>(body.reader())) still->awaited = false;
  CO_TRY(prefix);
  answer.mutable_growth()->set_prefix(*prefix);
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Reduce(const local::Reduce& body, ObjectId target, CallPtr call,
                                           local::Answer& answer) {
  CO_TRY(CheckName(body.name()));
  CO_TRY(CheckMetadata(body.metadata()));
  CO_TRY_ASSIGN(ReduceOptions options, ReadReduce(body, target));
  CO_TRY(CheckGrace(*call, options.owned));
  CO_TRY_ASSIGN(const ReduceOutcome outcome,
                co_await operations_.Reduce(std::move(options), std::move(call)));
  FillReduced(outcome, *answer.mutable_reduced());
  co_return Result<void>();
}

}  // namespace hoplite::node

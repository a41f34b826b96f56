// A request comes in, is checked, and its answer goes out.
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "node/core/counted.h"
#include "node/local/local_convert.h"
#include "node/local/local_session.h"
#include "node/local/request_errors.h"
#include "wire/local_protocol.h"

namespace hoplite::node {
namespace {

constexpr std::uint64_t kLongestTimeoutUs = std::uint64_t{86400} * 365 * 1000000;

// The object that a request names. Requests about drafts and readers, and Status, name none; others
// name several.
const std::string* ObjectBytes(const local::Request& request) {
  switch (request.body_case()) {
    case local::Request::kPut:
      return &request.put().object();
    case local::Request::kCreate:
      return &request.create().object();
    case local::Request::kGet:
      return &request.get().object();
    case local::Request::kOpen:
      return &request.open().object();
    case local::Request::kSubscribe:
      return &request.subscribe().object();
    case local::Request::kWhy:
      return &request.why().object();
    case local::Request::kReduce:
      return &request.reduce().target();
    default:
      return nullptr;
  }
}

Result<ObjectId> ParseObject(const local::Request& request) {
  const std::string* bytes = ObjectBytes(request);
  if (bytes == nullptr) return ObjectId();
  TRY_ASSIGN(const ObjectId object, ObjectId::FromBytes(*bytes));
  if (object == ObjectId())
    return std::unexpected(InvalidRequest("the all-zero id names no object"));
  return object;
}

// How many objects it asks of, besides those that count as pins.
std::size_t ObjectsOf(const local::Request& request) {
  switch (request.body_case()) {
    case local::Request::kDeleteObject:
      return request.delete_object().objects().size() / ObjectId::kBytes;
    case local::Request::kOwn:
      return request.own().objects().size() / ObjectId::kBytes;
    case local::Request::kDisown:
      return request.disown().objects().size() / ObjectId::kBytes;
    case local::Request::kInfo:
      return request.info().objects().size() / ObjectId::kBytes;
    case local::Request::kReduce:
      return static_cast<std::size_t>(request.reduce().sources_size());
    default:
      return 1;
  }
}

bool MakesAPin(const local::Request& request) {
  return request.has_create() || request.has_get() || request.has_open() ||
         request.has_subscribe() || request.has_open_register();
}

}  // namespace

Result<void> LocalSession::StartRequest(local::Request request) {
  const Id id = request.id();
  if (id == 0 || calls_.contains(id) || entries_.contains(id)) {
    return std::unexpected(
        Error(ErrorCode::kProtocol, fmt::format("request id {} is 0 or in use", id)));
  }
  const auto call = std::make_shared<Call>(operations_.loop());
  if (const std::uint64_t us = request.timeout_us(); us != 0 && us < kLongestTimeoutUs) {
    call->deadline = Now() + wire::AnsweredWithin(std::chrono::microseconds(us));
  }
  if (request.has_grace_us()) {
    call->grace = std::chrono::microseconds(std::min(request.grace_us(), kLongestTimeoutUs));
  }
  call->client = owner_;
  const Result<ObjectId> object = ParseObject(request);
  calls_.emplace(id, call);
  operations_.Spawn("request of a client",
                    Run(shared_from_this(), std::move(request), object, call));
  return {};
}

net::Task<void> LocalSession::Run(Self self, local::Request request, Result<ObjectId> object,
                                  CallPtr call) {
  local::Answer answer;
  answer.set_id(request.id());
  Result<void> handled;
  const Counted<> counted(self->asked_, ObjectsOf(request));
  if (!object) {
    handled = std::unexpected(object.error());
  } else {
    handled = CheckLimits(request, counted.count());
    if (handled) handled = co_await Handle(request, *object, call, answer);
  }
  self->calls_.erase(request.id());
  if (self->ended_) co_return;
  if (!handled) {
    NoteFailure(handled.error());
    FillError(handled.error(), *answer.mutable_error());
  }
  channel_->Send(answer, answer.has_draft_ready() ? WritableDescriptor(request) : -1);
}

LocalSession::Handled LocalSession::Handle(const local::Request& request, ObjectId object,
                                           CallPtr call, local::Answer& answer) {
  switch (request.body_case()) {
    case local::Request::kPut:
      answer.mutable_done();
      return Put(request.put(), object, std::move(call));
    case local::Request::kCreate:
      return Create(request, object, std::move(call), answer);
    case local::Request::kSeal:
      answer.mutable_done();
      return Seal(request.seal(), std::move(call));
    case local::Request::kGet:
      return Get(request, object, std::move(call), answer);
    case local::Request::kOpen:
      return Open(request, object, std::move(call), answer);
    case local::Request::kAwait:
      return Await(request.await(), std::move(call), answer);
    case local::Request::kDeleteObject:
      answer.mutable_done();
      return ForEach(request.delete_object().objects(), &Operations::Delete, std::move(call));
    case local::Request::kOwn:
      answer.mutable_done();
      return ForEach(request.own().objects(), &Operations::Own, std::move(call));
    case local::Request::kDisown:
      answer.mutable_done();
      return ForEach(request.disown().objects(), &Operations::Disown, std::move(call));
    case local::Request::kGetMany:
      return GetMany(request, std::move(call), answer);
    case local::Request::kInfo:
      return Info(request.info(), std::move(call), answer);
    case local::Request::kSubscribe:
      answer.mutable_done();
      return Subscribe(request.id(), object);
    case local::Request::kReduce:
      return Reduce(request.reduce(), object, std::move(call), answer);
    case local::Request::kWaitExists:
      return WaitExists(request.wait_exists(), std::move(call), answer);
    case local::Request::kWaitGone:
      return WaitGone(request.wait_gone(), std::move(call), answer);
    case local::Request::kIdentify:
      return Identify(answer);
    case local::Request::kDrain:
      return Drain(std::move(call), answer);
    case local::Request::kWhy:
      return Why(object, std::move(call), answer);
    case local::Request::kOpenRegister:
      answer.mutable_done();
      return OpenRegister(request.id(), request.open_register());
    case local::Request::kReadRegister:
      return ReadRegister(request.read_register(), std::move(call), answer);
    case local::Request::kWriteRegister:
      return WriteRegister(request.write_register(), std::move(call), answer);
    case local::Request::kAwaitRegister:
      return AwaitRegister(request.await_register(), std::move(call), answer);
    default:
      return Status(request.status(), std::move(call), answer);
  }
}

// One request alone may be about more objects than that.
Result<void> LocalSession::CheckLimits(const local::Request& request, std::size_t objects) const {
  const ClientLimits& limits = clients().limits();
  const bool alone = objects == asked_;
  if (calls_.size() > limits.requests || (asked_ > limits.requests && !alone)) {
    return std::unexpected(TooMany("requests, or objects in these,", limits.requests));
  }
  if (MakesAPin(request) && pins() >= limits.pins) {
    return std::unexpected(TooMany("pins", limits.pins));
  }
  return {};
}

// What a request made, until its Release. Others may have made theirs while it waited.
Result<void> LocalSession::Keep(Id made_by, Entry entry) {
  const std::uint32_t limit = clients().limits().pins;
  if (pins() >= limit) return std::unexpected(TooMany("pins", limit));
  if (entries_.emplace(made_by, std::move(entry)).second) return {};
  return std::unexpected(InvalidRequest(fmt::format("request id {} is in use", made_by)));
}

int LocalSession::WritableDescriptor(const local::Request& request) {
  if (!shares_segment_ || !request.create().maps_writable()) return -1;
  return operations_.store().segment().descriptor();
}

}  // namespace hoplite::node

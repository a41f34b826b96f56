#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/try.h"
#include "node/local/existence.h"
#include "node/local/joint_gets.h"
#include "node/local/local_convert.h"
#include "node/local/local_session.h"

namespace hoplite::node {
namespace {

constexpr std::uint64_t kLongestTimeoutUs = std::uint64_t{86400} * 365 * 1000000;

Error InvalidRequest(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

// The object that a request names; requests about drafts and readers, and Status, name none.
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
    case local::Request::kDeleteObject:
      return &request.delete_object().object();
    case local::Request::kInfo:
      return &request.info().object();
    case local::Request::kSubscribe:
      return &request.subscribe().object();
    case local::Request::kReduce:
      return &request.reduce().target();
    case local::Request::kOwn:
      return &request.own().object();
    case local::Request::kDisown:
      return &request.disown().object();
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

Result<void> CheckMetadata(const std::string& metadata) {
  if (metadata.size() <= kMaxMetadataBytes) return {};
  return std::unexpected(InvalidRequest(fmt::format("metadata of {} bytes; at most {} are allowed",
                                                    metadata.size(), kMaxMetadataBytes)));
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

std::uint64_t PrefixOf(const store::Copy& copy) {
  return copy.layout().contiguous_prefix(copy.marks());
}

void FillView(const store::Copy& copy, local::View& view) {
  view.set_offset(copy.segment_offset());
  view.set_size(copy.layout().size_bytes);
  view.set_metadata(copy.metadata());
  view.set_final(copy.state() == store::CopyState::kFinal);
  view.set_prefix(PrefixOf(copy));
  if (copy.windowed()) view.set_window(copy.bytes().size());
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

Error NeverComes(const ObjectId& gone, std::uint32_t count) {
  return {
      ErrorCode::kDeleted,
      fmt::format("{} of these objects will not exist any more: {} was deleted, or nobody owns it",
                  count, gone.ToHex())};
}

Error TooMany(const char* what, std::uint32_t limit) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("this client has {} {}, as many as its node allows", limit, what)};
}

bool MakesAPin(const local::Request& request) {
  return request.has_create() || request.has_get() || request.has_open() || request.has_subscribe();
}

Error Gone() { return {ErrorCode::kCancelled, "the client is gone"}; }

// While it lives, so many more.
class Counted {
 public:
  Counted(std::size_t& sum, std::size_t count) : sum_(sum), count_(count) { sum_ += count_; }
  ~Counted() { sum_ -= count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& sum_;
  const std::size_t count_;
};

// Wakes a call when its copy changes.
class CopyWatch final : public store::CopyListener {
 public:
  CopyWatch(store::CopyPtr copy, Call& call) : copy_(std::move(copy)), call_(call) {
    copy_->AddListener(this);
  }
  ~CopyWatch() override { copy_->RemoveListener(this); }
  void OnCopyChanged() noexcept override { call_.changed.Notify(); }

 private:
  const store::CopyPtr copy_;
  Call& call_;
};

net::Task<Result<std::uint64_t>> AwaitPrefix(Operations& operations, store::CopyPtr copy,
                                             std::uint64_t wanted, CallPtr call) {
  const std::uint64_t size = copy->layout().size_bytes;
  if (wanted > size) {
    co_return std::unexpected(
        InvalidRequest(fmt::format("{} bytes are asked of an object of {}", wanted, size)));
  }
  const CopyWatch watch(copy, *call);
  for (;;) {
    if (copy->state() == store::CopyState::kVoid) co_return std::unexpected(WhyVoid(*copy));
    const std::uint64_t prefix = PrefixOf(*copy);
    const bool final = copy->state() == store::CopyState::kFinal;
    if (wanted == size ? final : prefix >= wanted) co_return prefix;
    bool in_time = !call->cancelled;
    if (in_time) in_time = co_await call->changed.Wait(call->deadline);
    if (!in_time) co_return std::unexpected(operations.GaveUp(copy->object(), *call));
  }
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
    call->deadline = Now() + std::chrono::microseconds(us);
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
  if (!object) {
    handled = std::unexpected(object.error());
  } else {
    handled = CheckLimits(request);
    if (handled) handled = co_await Handle(request, *object, call, answer);
  }
  self->calls_.erase(request.id());
  if (self->ended_) co_return;
  if (!handled) FillError(handled.error(), *answer.mutable_error());
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
      return operations_.Delete(object, std::move(call));
    case local::Request::kOwn:
      answer.mutable_done();
      return operations_.Own(object, std::move(call));
    case local::Request::kDisown:
      answer.mutable_done();
      return operations_.Disown(object, std::move(call));
    case local::Request::kInfo:
      return Info(object, std::move(call), answer);
    case local::Request::kSubscribe:
      answer.mutable_done();
      return Subscribe(request.id(), object);
    case local::Request::kReduce:
      return Reduce(request.reduce(), object, std::move(call), answer);
    case local::Request::kWaitExists:
      return WaitExists(request.wait_exists(), std::move(call), answer);
    case local::Request::kIdentify:
      return Identify(answer);
    default:
      return Status(request.status(), std::move(call), answer);
  }
}

LocalSession::Handled LocalSession::Put(const local::Put& body, ObjectId object, CallPtr call) {
  CO_TRY(CheckMetadata(body.metadata()));
  const std::string& bytes = body.contents();
  call->owned = body.owned();
  call->only_if_owned = body.only_if_owned();
  CO_TRY_ASSIGN(const std::shared_ptr<Draft> draft,
                co_await operations_.Create(object, bytes.size(), body.metadata(), call));
  if (!bytes.empty()) std::memcpy(draft->copy()->bytes().data(), bytes.data(), bytes.size());
  CO_TRY(draft->Advance(bytes.size(), {}));
  co_return co_await draft->Seal(call);
}

LocalSession::Handled LocalSession::Create(const local::Request& request, ObjectId object,
                                           CallPtr call, local::Answer& answer) {
  const local::Create& body = request.create();
  CO_TRY(CheckMetadata(body.metadata()));
  if (peer_ && !peer_->same_user()) {
    co_return std::unexpected(
        InvalidRequest("only processes of the node's user may write into its memory"));
  }
  call->owned = body.owned();
  call->only_if_owned = body.only_if_owned();
  CO_TRY_ASSIGN(std::shared_ptr<Draft> draft,
                co_await operations_.Create(object, body.size(), body.metadata(), call));
  if (ended_) co_return std::unexpected(Gone());
  answer.mutable_draft_ready()->set_offset(draft->copy()->segment_offset());
  answer.mutable_draft_ready()->set_block_bytes(draft->copy()->layout().block_bytes);
  co_return Keep(request.id(), DraftEntry{.draft = std::move(draft)});
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
  const auto together = call->together = TogetherOf(request.get().together());
  call->only_if_owned = request.get().only_if_owned();
  CO_TRY_ASSIGN(store::CopyPtr copy, co_await operations_.Get(object, std::move(call)));
  if (ended_) co_return std::unexpected(Gone());
  FillView(*copy, *answer.mutable_view());
  CO_TRY(Keep(request.id(), View{copy, together}));
  if (together) together->Add(*copy);
  co_return Result<void>();
}

// Those of one number, while one of them is under way or its view is held.
std::shared_ptr<JointGets> LocalSession::TogetherOf(Id number) {
  if (number == 0) return nullptr;
  std::weak_ptr<JointGets>& known = joint_gets_[number];
  std::shared_ptr<JointGets> together = known.lock();
  if (!together) {
    together = std::make_shared<JointGets>(operations_.store().usage().capacity_bytes, togethers());
    known = together;
    std::erase_if(joint_gets_, [](const auto& item) { return item.second.expired(); });
  }
  return together;
}

LocalSession::Handled LocalSession::Open(const local::Request& request, ObjectId object,
                                         CallPtr call, local::Answer& answer) {
  call->only_if_owned = request.open().only_if_owned();
  auto opening = request.open().window() ? operations_.OpenWindow(object, call)
                                         : operations_.Open(object, call);
  CO_TRY_ASSIGN(store::CopyPtr copy, co_await std::move(opening));
  if (ended_) co_return std::unexpected(Gone());
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

LocalSession::Handled LocalSession::Info(ObjectId object, CallPtr call, local::Answer& answer) {
  CO_TRY_ASSIGN(const protocol::ObjectView view,
                co_await operations_.Info(object, std::move(call)));
  FillObject(view, *answer.mutable_info());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Status(const local::Status& body, CallPtr call,
                                           local::Answer& answer) {
  CO_TRY_ASSIGN(const protocol::PageRequest page, ReadPage(body));
  CO_TRY_ASSIGN(const protocol::StatusPage shown,
                co_await operations_.Status(body.shard(), page, std::move(call)));
  auto& status = *answer.mutable_status();
  for (const auto& node : shown.nodes) {
    auto& added = *status.add_nodes();
    FillNode(node, added);
    if (node.node.name != operations_.name()) continue;
    added.set_memory_bytes(operations_.store().usage().capacity_bytes);
    added.set_used_bytes(operations_.store().usage().used_bytes);
  }
  for (const auto& object : shown.page.objects) FillObject(object, *status.add_objects());
  status.set_more(shown.page.more);
  status.set_shard_count(static_cast<std::uint32_t>(operations_.shard_count()));
  FillShard(shown.shard, *status.mutable_shard());
  FillClients(clients(), *status.mutable_clients());
  status.mutable_clients()->set_owned(operations_.owned().count);
  status.mutable_clients()->set_max_owned(operations_.owned().limit);
  if (status.ByteSizeLong() + 64 > wire::kMaxLocalAnswer) {
    answer.clear_status();
    co_return std::unexpected(
        Error(ErrorCode::kResourceExhausted, "the status is too large for one answer"));
  }
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Reduce(const local::Reduce& body, ObjectId target, CallPtr call,
                                           local::Answer& answer) {
  CO_TRY(CheckMetadata(body.metadata()));
  CO_TRY_ASSIGN(ReduceOptions options, ReadReduce(body, target));
  CO_TRY_ASSIGN(const ReduceOutcome outcome,
                co_await operations_.Reduce(std::move(options), std::move(call)));
  FillReduced(outcome, *answer.mutable_reduced());
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Subscribe(Id id, ObjectId object) {
  const std::weak_ptr<LocalChannel> channel = channel_;
  std::function<void(const protocol::Location&)> tell = [channel,
                                                         id](const protocol::Location& location) {
    const auto open = channel.lock();
    if (!open) return;
    local::Answer news;
    news.set_id(id);
    FillLocation(location, *news.mutable_location());
    open->Send(news);
  };
  co_return Keep(id, SubscriptionEntry{operations_.Subscribe(object, std::move(tell))});
}

LocalSession::Handled LocalSession::WaitExists(const local::WaitExists& body, CallPtr call,
                                               local::Answer& answer) {
  CO_TRY_ASSIGN(std::vector<ObjectId> objects, ReadObjects(body));
  const std::uint32_t limit = clients().limits().pins;
  if (pins() + objects.size() > limit) co_return std::unexpected(TooMany("pins", limit));
  const Counted counted(watched_, objects.size());
  call->only_if_owned = body.only_if_owned();
  const Existence existence(operations_, std::move(objects), *call);
  bool in_time = true;
  while (existence.count() < body.count() && in_time && !call->cancelled) {
    const auto gone = body.only_if_owned() ? existence.Missing(body.count()) : std::nullopt;
    if (gone) co_return std::unexpected(NeverComes(*gone, body.count()));
    in_time = co_await call->changed.Wait(call->deadline);
  }
  if (call->cancelled) {
    co_return std::unexpected(Error(ErrorCode::kCancelled, "the wait was cancelled"));
  }
  for (const std::uint32_t place : existence.Existing()) {
    answer.mutable_existing()->add_places(place);
  }
  co_return Result<void>();
}

LocalSession::Handled LocalSession::Identify(local::Answer& answer) {
  const std::uint64_t id = operations_.cluster_id();
  if (id == 0) {
    co_return std::unexpected(
        Error(ErrorCode::kUnavailable,
              "the node has not reached the directory's first shard since it was started"));
  }
  answer.mutable_identity()->set_cluster_id(id);
  co_return Result<void>();
}

Result<void> LocalSession::CheckLimits(const local::Request& request) const {
  const ClientLimits& limits = clients().limits();
  if (calls_.size() > limits.requests) return std::unexpected(TooMany("requests", limits.requests));
  if (MakesAPin(request) && pins() >= limits.pins) {
    return std::unexpected(TooMany("pins", limits.pins));
  }
  return {};
}

// What a request made, until its Release. Others may have made theirs while it waited.
Result<void> LocalSession::Keep(Id made_by, Entry entry) {
  const std::uint32_t limit = clients().limits().pins;
  if (pins() >= limit) return std::unexpected(TooMany("pins", limit));
  entries_.emplace(made_by, std::move(entry));
  return {};
}

int LocalSession::WritableDescriptor(const local::Request& request) {
  if (!shares_segment_ || !request.create().maps_writable()) return -1;
  return operations_.store().segment().descriptor();
}

}  // namespace hoplite::node

#include "sim/node_world/calls.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/checksum.h"
#include "net/await.h"
#include "net/timer.h"
#include "protocol/failure.h"

namespace hoplite::node_world {
namespace {

constexpr Duration kLookAtReader = std::chrono::milliseconds(7);

net::Task<void> Sleep(asio::io_context& loop, Duration duration) {
  net::Timer timer(loop);
  timer.expires_after(duration);
  asio::error_code ec;
  co_await timer.async_wait(net::Into(ec));
}

const char* Name(CallKind kind) {
  switch (kind) {
    case CallKind::kPut:
      return "put";
    case CallKind::kFail:
      return "fail";
    case CallKind::kGet:
      return "get";
    case CallKind::kGetInto:
      return "get into memory";
    case CallKind::kOpen:
      return "open";
    case CallKind::kReduce:
      return "reduce";
    case CallKind::kDelete:
      return "delete";
    case CallKind::kDrain:
      return "drain";
  }
  return "";
}

// The same bytes, without the pin.
store::CopyPtr Unpinned(const store::Copy& copy) {
  auto view = std::make_shared<store::Copy>(copy.object(), copy.layout(), copy.metadata(),
                                            copy.bytes(), copy.segment_offset(), nullptr);
  const Layout& layout = copy.layout();
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    view->Advance(s, layout.stripe_block_count(s));
  }
  view->Seal();
  return view;
}

// Of the blocks that become whole when a prefix grows.
std::vector<std::uint64_t> ChecksumsBetween(const Layout& layout, std::span<const std::byte> bytes,
                                            std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> checksums;
  for (std::uint64_t block = from / layout.block_bytes; block < layout.block_count(); ++block) {
    const ByteRange range = layout.block_range(block);
    if (range.end > to) break;
    checksums.push_back(BlockChecksum(bytes.subspan(range.begin, range.size())));
  }
  return checksums;
}

}  // namespace

std::string ToString(const CallRecord& record) {
  return fmt::format("{} {} at {}", Name(record.kind), record.object.ToShortString(),
                     record.member != nullptr ? record.member->name() : "a dead node");
}

CallRecordPtr Calls::Begin(CallKind kind, Member& member, const ObjectId& object, Time deadline) {
  auto record = std::make_shared<CallRecord>();
  record->kind = kind;
  record->member = &member;
  record->object = object;
  record->begun = time_.Now();
  record->call = std::make_shared<node::Call>(member.assembly().runtime.main());
  record->call->deadline = deadline;
  records_.push_back(record);
  record->place = open_.insert(open_.end(), record);
  first_deadline_ = std::min(first_deadline_, deadline);
  return record;
}

const CallRecord* Calls::Late(Duration slack) {
  const Time now = time_.Now();
  if (first_deadline_ == kNever || now <= first_deadline_ + slack) return nullptr;
  first_deadline_ = kNever;
  for (const CallRecordPtr& record : open_) {
    const Time due = std::max(record->call->deadline, record->member->frozen_until());
    if (due != kNever && now > due + slack) return record.get();
    first_deadline_ = std::min(first_deadline_, record->call->deadline);
  }
  return nullptr;
}

void Calls::Answer(const CallRecordPtr& record, std::optional<Error> error) {
  if (!record->abandoned) open_.erase(record->place);
  record->call = nullptr;
  record->answered_at = time_.Now();
  record->error = std::move(error);
  CheckFailure(*record);
  if (!record->abandoned) hooks_.answered(*record);
}

void Calls::Abandon(Member& member) {
  std::erase_if(open_, [&member](const CallRecordPtr& record) {
    if (record->member != &member) return false;
    record->abandoned = true;
    record->call->Cancel();
    return true;
  });
}

// An error that stands in place of an object is one that somebody put there.
void Calls::CheckFailure(const CallRecord& record) {
  if (record.abandoned || !record.error || record.error->code != ErrorCode::kFailed) return;
  const std::string broken = model_.CheckFailure(record.object, *record.error);
  if (!broken.empty()) hooks_.broken(fmt::format("{} ({})", broken, ToString(record)));
}

void Calls::Check(const CallRecord& record, std::span<const std::byte> bytes,
                  std::uint64_t size_bytes) {
  if (record.abandoned) return;
  const std::string broken = model_.Check(record.object, bytes, size_bytes);
  if (!broken.empty()) hooks_.broken(fmt::format("{} ({})", broken, ToString(record)));
}

CallRecordPtr Calls::Put(Member& member, const ObjectId& object, std::uint64_t size_bytes,
                         Time deadline, CallStyle style) {
  const auto record = Begin(CallKind::kPut, member, object, deadline);
  record->size_bytes = size_bytes;
  member.assembly().calls.Spawn("put", RunPut(record, style));
  return record;
}

net::Task<void> Calls::RunPut(CallRecordPtr record, CallStyle style) {
  node::ClientCalls& calls = record->member->assembly().calls;
  auto draft = co_await calls.Create(record->object, record->size_bytes, "", record->call);
  if (!draft) co_return Answer(record, draft.error());
  auto failed = co_await Fill(record, *draft, style);
  if (failed) co_return Answer(record, std::move(failed));
  if (style.aborts) {
    (*draft)->Abort();
    co_return Answer(record, Error(ErrorCode::kCancelled, "aborted by its client"));
  }
  auto sealed = co_await (*draft)->Seal(record->call);
  Answer(record, sealed ? std::nullopt : std::optional(sealed.error()));
}

net::Task<std::optional<Error>> Calls::Fill(CallRecordPtr record,
                                            std::shared_ptr<node::Draft> draft, CallStyle style) {
  constexpr std::uint64_t kSteps = 4;
  const Model::Bytes& bytes = model_.Begin(record->object, record->size_bytes);
  const std::uint64_t size = record->size_bytes;
  const bool with_checksums = Model::Fingerprint(bytes) % 2 == 0;  // some clients compute them
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const std::uint64_t from = size * (step - 1) / kSteps;
    const std::uint64_t to = size * step / kSteps;
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(from),
              bytes.begin() + static_cast<std::ptrdiff_t>(to),
              draft->copy()->bytes().begin() + static_cast<std::ptrdiff_t>(from));
    const Layout& layout = draft->copy()->layout();
    std::vector<std::uint64_t> checksums;
    if (with_checksums) checksums = ChecksumsBetween(layout, bytes, from, to);
    auto advanced = draft->Advance(to, checksums);
    if (!advanced) co_return advanced.error();
    if (style.aborts && step == kSteps / 2) break;
    if (style.fill_time > Duration{0}) {
      co_await Sleep(record->member->assembly().runtime.main(), style.fill_time / kSteps);
    }
  }
  co_return std::nullopt;
}

CallRecordPtr Calls::Fail(Member& member, const ObjectId& object, Time deadline) {
  const auto record = Begin(CallKind::kFail, member, object, deadline);
  member.assembly().calls.Spawn("fail", RunFail(record));
  return record;
}

// As a client's session does.
net::Task<void> Calls::RunFail(CallRecordPtr record) {
  node::ClientCalls& calls = record->member->assembly().calls;
  const std::string metadata = protocol::FailureMetadata(model_.BeginFailure(record->object));
  auto draft = co_await calls.Create(record->object, 0, metadata, record->call);
  if (!draft) co_return Answer(record, draft.error());
  auto sealed = co_await (*draft)->Seal(record->call);
  Answer(record, sealed ? std::nullopt : std::optional(sealed.error()));
}

CallRecordPtr Calls::Get(Member& member, const ObjectId& object, Time deadline, CallStyle style) {
  const auto record = Begin(CallKind::kGet, member, object, deadline);
  member.assembly().calls.Spawn("get", RunGet(record, style));
  return record;
}

net::Task<void> Calls::RunGet(CallRecordPtr record, CallStyle style) {
  node::ClientCalls& calls = record->member->assembly().calls;
  auto got = co_await calls.Get(record->object, record->call);
  if (!got) co_return Answer(record, got.error());
  store::CopyPtr copy = *std::move(got);
  if (hooks_.forgets_pins) copy = Unpinned(*copy);
  record->fingerprint = Model::Fingerprint(copy->bytes());
  Answer(record, std::nullopt);
  if (copy->state() == store::CopyState::kOpen) {
    hooks_.broken(fmt::format("P3: {} was given bytes that are not final", ToString(*record)));
  }
  Check(*record, copy->bytes(), copy->bytes().size());
  if (style.hold > Duration{0}) {
    co_await Sleep(calls.loop(), style.hold);
    Check(*record, copy->bytes(), copy->bytes().size());
  }
  copy.reset();
  calls.OnUnpin();
}

CallRecordPtr Calls::GetInto(Member& member, const ObjectId& object, Time deadline,
                             CallStyle style) {
  const auto record = Begin(CallKind::kGetInto, member, object, deadline);
  member.assembly().calls.Spawn("get into", RunGetInto(record, style));
  return record;
}

// Reads a recalled object once more, as the client library does.
net::Task<void> Calls::RunGetInto(CallRecordPtr record, CallStyle style) {
  node::ClientCalls& calls = record->member->assembly().calls;
  const node::CallPtr call = record->call;
  std::optional<Error> failed;
  do {
    auto opened = co_await calls.OpenWindow(record->object, call);
    if (!opened) co_return Answer(record, opened.error());
    failed = co_await CopyInto(record, *std::move(opened), style);
    style.stops = false;
    call->interest.reset();
    calls.OnUnpin();
  } while (failed && failed->code == ErrorCode::kRecalled);
  Answer(record, std::move(failed));
}

// Bytes that are taken give room to those that follow, so they are checked when they are taken.
net::Task<std::optional<Error>> Calls::CopyInto(CallRecordPtr record, store::CopyPtr copy,
                                                CallStyle style) {
  node::ClientCalls& calls = record->member->assembly().calls;
  const node::CallPtr call = record->call;
  const std::span<const std::byte> window = copy->bytes();
  const std::uint64_t size = copy->layout().size_bytes;
  Model::Bytes into;
  int looks = 0;
  for (;;) {
    if (call->cancelled || time_.Now() >= call->deadline) {
      co_return co_await calls.GaveUp(record->object, call, time_.Now());
    }
    const store::CopyState state = copy->state();
    if (state == store::CopyState::kVoid) {
      const bool deleted = copy->void_reason() == store::VoidReason::kDeleted;
      co_return Error(deleted ? ErrorCode::kDeleted : ErrorCode::kRecalled, "it is void");
    }
    const bool stops = style.stops && looks++ >= style.stops_after && copy->windowed() &&
                       state == store::CopyState::kOpen;
    const std::uint64_t prefix = copy->layout().contiguous_prefix(copy->marks());
    while (!stops && into.size() < prefix) {
      const auto here = window.subspan(into.size() % window.size());
      const auto taken = here.first(std::min<std::uint64_t>(prefix - into.size(), here.size()));
      into.insert(into.end(), taken.begin(), taken.end());
    }
    copy->Take(into.size());
    const bool whole = into.size() == size;
    // An object that is whole but not final may still be recalled.
    if (!whole || state == store::CopyState::kFinal) Check(*record, into, size);
    if (whole && state == store::CopyState::kFinal) break;
    co_await Sleep(calls.loop(), kLookAtReader + style.pace);
  }
  record->fingerprint = Model::Fingerprint(into);
  record->windowed = copy->windowed();
  co_return std::nullopt;
}

CallRecordPtr Calls::Open(Member& member, const ObjectId& object, Time deadline) {
  const auto record = Begin(CallKind::kOpen, member, object, deadline);
  member.assembly().calls.Spawn("open", RunOpen(record));
  return record;
}

// Reads the bytes while they arrive.
net::Task<void> Calls::RunOpen(CallRecordPtr record) {
  node::ClientCalls& calls = record->member->assembly().calls;
  const node::CallPtr call = record->call;
  auto opened = co_await calls.Open(record->object, call);
  if (!opened) co_return Answer(record, opened.error());
  store::CopyPtr copy = *std::move(opened);
  while (copy->state() == store::CopyState::kOpen && !call->cancelled &&
         time_.Now() < call->deadline && !record->abandoned) {
    const std::uint64_t prefix = copy->layout().contiguous_prefix(copy->marks());
    Check(*record, copy->bytes().first(prefix), copy->layout().size_bytes);
    co_await Sleep(calls.loop(), kLookAtReader);
  }
  const bool whole = copy->state() == store::CopyState::kFinal;
  if (whole) Check(*record, copy->bytes(), copy->bytes().size());
  call->interest.reset();
  copy.reset();
  calls.OnUnpin();
  if (whole) co_return Answer(record, std::nullopt);
  Answer(record, Error(ErrorCode::kRecalled, "it did not become whole"));
}

CallRecordPtr Calls::Reduce(Member& member, ReduceOptions options, Time deadline) {
  const auto record = Begin(CallKind::kReduce, member, options.target, deadline);
  record->sum = std::move(options);
  model_.BeginSum(record->sum);
  member.assembly().calls.Spawn("reduce", RunReduce(record));
  return record;
}

net::Task<void> Calls::RunReduce(CallRecordPtr record) {
  node::ClientCalls& calls = record->member->assembly().calls;
  ReduceOptions options = record->sum;
  auto outcome = co_await calls.Reduce(std::move(options), record->call);
  if (outcome && !record->abandoned) model_.EndSum(*outcome);
  Answer(record, outcome ? std::nullopt : std::optional(outcome.error()));
}

CallRecordPtr Calls::Delete(Member& member, const ObjectId& object, Time deadline) {
  const auto record = Begin(CallKind::kDelete, member, object, deadline);
  member.assembly().calls.Spawn("delete", RunDelete(record));
  return record;
}

net::Task<void> Calls::RunDelete(CallRecordPtr record) {
  node::ClientCalls& calls = record->member->assembly().calls;
  auto deleted = co_await calls.Delete(record->object, record->call);
  Answer(record, deleted ? std::nullopt : std::optional(deleted.error()));
}

CallRecordPtr Calls::Drain(Member& member, Time deadline) {
  const auto record = Begin(CallKind::kDrain, member, ObjectId(), deadline);
  for (const store::CopyPtr& copy : member.assembly().store.List()) {
    if (copy->state() == store::CopyState::kFinal) record->held.push_back(copy->object());
  }
  member.assembly().calls.Spawn("drain", RunDrain(record));
  return record;
}

net::Task<void> Calls::RunDrain(CallRecordPtr record) {
  const auto drained = co_await record->member->assembly().calls.Drain(record->call);
  if (drained) record->left_count = drained->left_count;
  Answer(record, drained ? std::nullopt : std::optional(drained.error()));
}

}  // namespace hoplite::node_world

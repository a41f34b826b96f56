#include "node/local/local_session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/try.h"
#include "net/timer.h"
#include "node/local/local_convert.h"

namespace hoplite::node {
namespace {

constexpr Duration kHelloWithin = std::chrono::seconds(5);

}  // namespace

Error LocalSession::NoDescriptorLeft() {
  return {ErrorCode::kResourceExhausted, "no descriptor is left at the node for another client"};
}

Result<std::shared_ptr<LocalSession>> LocalSession::Adopt(Operations& operations,
                                                          std::shared_ptr<LocalClients> clients,
                                                          int socket, Kind kind) {
  std::unique_ptr<LocalPeer> peer;
  if (kind == Kind::kWorker) peer = std::make_unique<LocalPeer>(operations.loop(), socket);
  // Its pins would end with its socket, although it may go on reading: so there must be none.
  if (peer && peer->no_descriptor_left()) return std::unexpected(NoDescriptorLeft());
  TRY_ASSIGN(std::shared_ptr<LocalChannel> channel, LocalChannel::Adopt(operations.loop(), socket));
  return std::make_shared<LocalSession>(operations, std::move(clients), std::move(channel),
                                        std::move(peer));
}

LocalSession::LocalSession(Operations& operations, std::shared_ptr<LocalClients> clients,
                           std::shared_ptr<LocalChannel> channel, std::unique_ptr<LocalPeer> peer)
    : Member(std::move(clients), peer ? peer->pid() : ::getpid()),
      operations_(operations),
      channel_(std::move(channel)),
      peer_(std::move(peer)),
      owner_(std::make_shared<Owner>(NewNumber())),
      process_pins_(operations_.loop(), peer_ && peer_->watchable(), [this] {
        operations_.OnUnpin();
        EndIfDone();
      }) {}

void LocalSession::Start(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  const std::weak_ptr<LocalSession> weak = weak_from_this();
  LocalChannel::Hooks hooks;
  hooks.on_request = [weak](local::Request request) {
    if (const Self self = weak.lock()) self->OnRequest(std::move(request));
  };
  hooks.on_end = [weak](const Error& why) {
    if (const Self self = weak.lock()) self->OnConnectionEnd(why);
  };
  channel_->Start(std::move(hooks));
  hello_due_.emplace(operations_.loop(), Now() + kHelloWithin, [weak] {
    if (const Self self = weak.lock()) self->SendAway("no Hello came in time");
  });
  if (!peer_ || !peer_->watchable()) return;
  peer_->OnExit([weak] {
    const Self self = weak.lock();
    if (!self) return;
    // Somebody else may still hold the socket.
    self->channel_->FailAfterReading(Error(ErrorCode::kUnavailable, "the process has exited"));
    self->process_pins_.OnExit();
  });
}

void LocalSession::Stop() {
  const Self keep = shared_from_this();
  OnConnectionEnd(Error(ErrorCode::kCancelled, "the node stops"));
  process_pins_.Clear();
}

void LocalSession::SendAway(const std::string& why) {
  channel_->Fail(Error(ErrorCode::kProtocol, why));
}

void LocalSession::OnRequest(local::Request request) {
  const Result<void> handled = Dispatch(std::move(request));
  if (!handled) channel_->Fail(handled.error());
}

Result<void> LocalSession::Dispatch(local::Request request) {
  if (request.has_hello() == greeted_) {
    return std::unexpected(
        Error(ErrorCode::kProtocol, greeted_ ? "a second Hello" : "the first message is no Hello"));
  }
  switch (request.body_case()) {
    case local::Request::kHello:
      return Hello(request);
    case local::Request::kAdvance:
      Advance(request.advance());
      return {};
    case local::Request::kCancel:
      Cancel(request.cancel());
      return {};
    case local::Request::kRelease:
      Release(request.release().made_by(), request.release().count());
      return {};
    case local::Request::kLeave:
      Leave(Operations::ClientEnd::kClosed);
      return {};
    case local::Request::kForked:
      return Forked(request.forked());
    case local::Request::BODY_NOT_SET:
      return std::unexpected(Error(ErrorCode::kProtocol, "a request of an unknown kind"));
    default:
      return StartRequest(std::move(request));
  }
}

Result<void> LocalSession::Hello(const local::Request& request) {
  const std::uint32_t version = request.hello().protocol_version();
  if (version != wire::kLocalProtocolVersion) {
    return std::unexpected(
        Error(ErrorCode::kProtocol, fmt::format("the client speaks local protocol {}, this node {}",
                                                version, wire::kLocalProtocolVersion)));
  }
  local::Answer answer;
  answer.set_id(request.id());
  if (request.hello().pipe()) TRY(process_pins_.Take(channel_->TakeDescriptor()));
  if (request.hello().pipe() && !process_pins_.has_pipe()) {
    operations_.GiveUpIdle();
    FillError(NoDescriptorLeft(), *answer.mutable_error());
    channel_->Send(answer);
    return {};
  }
  greeted_ = true;
  hello_due_.reset();
  shares_segment_ = !request.hello().in_process();
  auto& segment = operations_.store().segment();
  answer.mutable_attached()->set_protocol_version(wire::kLocalProtocolVersion);
  answer.mutable_attached()->set_node(operations_.name());
  answer.mutable_attached()->set_segment_bytes(segment.bytes().size());
  answer.mutable_attached()->set_shards(static_cast<std::uint32_t>(operations_.shard_count()));
  for (const std::string& shard : operations_.directory()) {
    answer.mutable_attached()->add_directory(shard);
  }
  channel_->Send(answer, shares_segment_ ? segment.read_only_descriptor() : -1);
  return {};
}

void LocalSession::Advance(const local::Advance& body) {
  auto* entry = Find<DraftEntry>(body.draft());
  if (entry == nullptr || entry->failed) return;
  const std::span checksums(body.checksums().data(), body.checksums().size());
  const Result<void> advanced = entry->draft->Advance(body.prefix(), checksums);
  if (advanced) return;
  entry->failed = true;
  local::Answer news;
  news.set_id(body.draft());
  FillError(advanced.error(), *news.mutable_draft_failed());
  channel_->Send(news);
}

// If it was answered its requester gave up before the answer came, and has nothing to release.
void LocalSession::Cancel(const local::Cancel& body) {
  const auto call = calls_.find(body.request());
  if (call == calls_.end()) return Release(body.request(), body.count());
  call->second->Cancel();
}

void LocalSession::Release(Id made_by, std::uint32_t count) {
  const std::uint64_t all = std::clamp<std::uint64_t>(count, 1, wire::kMaxGetMany);
  for (std::uint64_t place = 0; place < all; ++place) Release(made_by + place);
}

void LocalSession::Release(Id made_by) {
  const auto at = entries_.find(made_by);
  if (at == entries_.end()) return;
  {
    const Entry entry = std::move(at->second);
    entries_.erase(at);
    if (const auto* reader = std::get_if<ReaderEntry>(&entry)) reader->fetch->Cancel();
    if (const auto* draft = std::get_if<DraftEntry>(&entry)) draft->draft->Abort();
    if (const auto* held = std::get_if<RegisterEntry>(&entry)) held->opened->Close();
  }
  operations_.OnUnpin();
}

// Who is closed says so first; else its end is a death.
void LocalSession::Leave(Operations::ClientEnd how) {
  if (std::exchange(owner_->gone, true)) return;
  operations_.OnClientEnd(*owner_, how);
  for (auto& [id, entry] : entries_) {
    if (const auto* held = std::get_if<RegisterEntry>(&entry)) held->opened->Close();
  }
}

// What the client may read the child may, too. It has no mapping of drafts.
Result<void> LocalSession::Forked(const local::Forked& body) {
  std::vector<store::CopyPtr> readable;
  for (const auto& [id, entry] : entries_) {
    if (const auto* view = std::get_if<View>(&entry)) readable.push_back(view->copy);
    if (const auto* reader = std::get_if<ReaderEntry>(&entry)) readable.push_back(reader->copy);
  }
  process_pins_.Fork(std::move(readable));
  if (body.pipe()) TRY(process_pins_.Take(channel_->TakeDescriptor()));
  return process_pins_.CheckForks();
}

void LocalSession::OnConnectionEnd(const Error& why) {
  if (ended_) return;
  ended_ = true;
  hello_due_.reset();
  log::Debug("local client {}: {}", peer_ ? peer_->pid() : ::getpid(), why.message);
  const Self keep = shared_from_this();
  channel_->Close();
  Leave(Operations::ClientEnd::kDied);
  for (const auto& [id, call] : calls_) call->Cancel();
  // Others must not wait for a draft or a fetch of a client that is gone, but its memory may still
  // be mapped there.
  std::vector<store::CopyPtr> mapped;
  for (auto& [id, entry] : entries_) {
    if (auto* view = std::get_if<View>(&entry)) mapped.push_back(std::move(view->copy));
    if (auto* reader = std::get_if<ReaderEntry>(&entry)) {
      mapped.push_back(std::move(reader->copy));
      reader->fetch->Cancel();
    }
    if (auto* draft = std::get_if<DraftEntry>(&entry)) {
      mapped.push_back(std::move(draft->copy));
      draft->draft->Abort();
    }
  }
  entries_.clear();
  process_pins_.OnConnectionEnd(std::move(mapped));
}

void LocalSession::EndIfDone() {
  if (!ended_ || process_pins_.count() > 0) return;
  if (auto on_end = std::exchange(on_end_, nullptr)) on_end();
}

}  // namespace hoplite::node

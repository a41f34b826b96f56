#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/client.h>

#include "base/clock.h"
#include "base/try.h"
#include "client/apart.h"
#include "client/channel/publisher.h"
#include "client/channel/snapshot_state.h"
#include "client/channel/stream_impl.h"
#include "client/channel/version_request.h"
#include "client/client_access.h"
#include "client/empty.h"
#include "client/futures.h"
#include "client/interruption.h"
#include "client/pending.h"
#include "client/register_state.h"

namespace hoplite {

using client::VersionRequest;

struct Channel::State {
  State(Client client_in, Register head_in, std::string name_in, const ChannelOptions& options)
      : client(std::move(client_in)),
        head(std::move(head_in)),
        name(std::move(name_in)),
        publisher(client, head, name, options) {}

  std::shared_ptr<VersionRequest> Begin(const std::shared_ptr<State>& self,
                                        VersionRequest::Wanted wanted);
  Future<Snapshot> Ask(const std::shared_ptr<State>& self, VersionRequest::Wanted wanted);
  Result<std::uint64_t> Publish(std::span<const Part> parts, const PublishOptions& options);
  // The same; finds out that it was closed meanwhile.
  static Result<std::uint64_t> PublishBy(std::shared_ptr<State> state, std::span<const Part> parts,
                                         const PublishOptions& options);
  Error Closed() const { return {ErrorCode::kCancelled, "channel '" + name + "' was closed"}; }
  void Close();
  void EndIfNobodyPublishes();
  const std::shared_ptr<client::Connection>& connection() const {
    return ClientAccess::StateOf(head).connection;
  }

  Client client;
  const Register head;
  const std::string name;
  std::atomic<bool> closed{false};

  TimedMutex publishing;
  client::Publisher publisher HOPLITE_GUARDED_BY(publishing);
  Mutex mutex;
  std::vector<std::weak_ptr<VersionRequest>> requests HOPLITE_GUARDED_BY(mutex);  // under way
};

Result<Channel> Client::OpenChannel(std::string_view name, const ChannelOptions& options) {
  if (options.keep == 0) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              "channel '" + std::string(name) + "': keep is 0, at least 1 is kept"));
  }
  const Time deadline = client::DeadlineAfter(options.timeout);
  TRY_ASSIGN(Register head, OpenRegister(name, {.timeout = options.timeout}));
  const auto state =
      std::make_shared<Channel::State>(*this, std::move(head), std::string(name), options);
  Channel channel(state);
  if (options.take_over) {
    const TimedMutexLock lock(state->publishing);
    TRY(state->publisher.TakeOver(deadline));
  }
  return channel;
}

namespace {

Error NoChannel() { return client::Empty("channel", "Client::OpenChannel gives one"); }

}  // namespace

Channel::Channel() = default;
Channel::Channel(std::shared_ptr<State> state) : state_(std::move(state)) {}
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&& other) noexcept {
  if (state_ && state_ != other.state_) state_->Close();
  state_ = std::move(other.state_);
  return *this;
}
Channel::~Channel() {
  if (state_) state_->Close();
}

void Channel::Close() {
  if (state_) state_->Close();
}

void Channel::State::Close() {
  if (closed.exchange(true) || connection()->inherited()) return;
  ClientAccess::StateOf(head).Close();
  std::vector<std::weak_ptr<VersionRequest>> waiting;
  {
    const MutexLock lock(mutex);
    waiting = std::exchange(requests, {});
  }
  for (const auto& weak : waiting) {
    if (const auto request = weak.lock()) request->GiveUp(Closed());
  }
  EndIfNobodyPublishes();
}

// Of a channel that was closed. A thread that publishes meanwhile finds that out, and does it.
void Channel::State::EndIfNobodyPublishes() {
  if (!publishing.LockBefore(hoplite::Now())) return;
  const TimedMutexLock lock(AlreadyLocked(), publishing);
  publisher.End();
}

// --- publishing

Result<std::uint64_t> Channel::Publish(std::span<const Part> parts, const PublishOptions& options) {
  if (!state_) return std::unexpected(NoChannel());
  return State::PublishBy(state_, parts, options);
}

Future<std::uint64_t> Channel::PublishAsync(std::span<const Part> parts,
                                            const PublishOptions& options) {
  if (!state_) return Future<std::uint64_t>::Failed(NoChannel());
  return client::Apart<std::uint64_t>::Run(
      state_->connection(), "channel '" + state_->name + "'",
      [state = state_, parts = std::vector(parts.begin(), parts.end()), options] {
        return State::PublishBy(state, parts, options);
      });
}

Result<std::uint64_t> Channel::State::PublishBy(std::shared_ptr<State> state,
                                                std::span<const Part> parts,
                                                const PublishOptions& options) {
  const client::Interruption by_caller(options.stop);
  Result<std::uint64_t> published = state->Publish(parts, options);
  if (!state->closed) return published;
  state->EndIfNobodyPublishes();
  return published ? published : std::unexpected(state->Closed());
}

Result<std::uint64_t> Channel::State::Publish(std::span<const Part> parts,
                                              const PublishOptions& options) {
  const Time deadline = client::DeadlineAfter(options.timeout);
  if (!publishing.LockBefore(deadline)) {
    return std::unexpected(
        Error(ErrorCode::kTimeout, "channel '" + name + "': another thread still publishes"));
  }
  const TimedMutexLock lock(AlreadyLocked(), publishing);
  if (closed) return std::unexpected(Closed());
  const client::Interruption by_close([this] { return closed.load(); });
  return publisher.Publish(parts, options, deadline);
}

// --- reading

std::shared_ptr<VersionRequest> Channel::State::Begin(const std::shared_ptr<State>& self,
                                                      VersionRequest::Wanted wanted) {
  const auto open_head = [self]() -> Result<const Register*> {
    if (self->closed) return std::unexpected(self->Closed());
    return &self->head;
  };
  const Time deadline = client::DeadlineAfter(wanted.version.timeout);
  auto request = std::make_shared<VersionRequest>(
      VersionRequest::Means{client, connection(), open_head}, name, std::move(wanted), deadline);
  {
    const MutexLock lock(mutex);
    std::erase_if(requests, [](const auto& weak) { return weak.expired(); });
    requests.push_back(request);
  }
  if (!connection()->inherited()) request->Start();
  return request;
}

Future<Snapshot> Channel::State::Ask(const std::shared_ptr<State>& self,
                                     VersionRequest::Wanted wanted) {
  const Time deadline = client::DeadlineAfter(wanted.version.timeout);
  const auto request = Begin(self, std::move(wanted));
  return client::FutureOf<Snapshot>(client::QuestionOf(request, connection(), deadline),
                                    "channel '" + name + "'", [request](const auto& /*answer*/) {
                                      VersionRequest::Found found = request->Take();
                                      return ClientAccess::MakeSnapshot(found.head.version,
                                                                        std::move(found.objects));
                                    });
}

Result<std::optional<std::uint64_t>> Channel::Latest(const CallOptions& options) const {
  if (!state_) return std::unexpected(NoChannel());
  if (state_->closed) return std::unexpected(state_->Closed());
  TRY_ASSIGN(const RegisterEntry entry, state_->head.Get(options));
  TRY_ASSIGN(const std::optional<client::Head> head, client::HeadOf(entry));
  return head ? std::optional(head->version) : std::nullopt;
}

Result<Snapshot> Channel::Get(const VersionOptions& options) const {
  return GetAsync(options).Wait(options.stop);
}

Future<Snapshot> Channel::GetAsync(const VersionOptions& options) const {
  if (!state_) return Future<Snapshot>::Failed(NoChannel());
  return state_->Ask(state_, {options});
}

Result<SnapshotStream> Channel::Stream(const VersionOptions& options) const {
  if (!state_) return std::unexpected(NoChannel());
  const client::Interruption by_caller(options.stop);
  const Time deadline = client::DeadlineAfter(options.timeout);
  const auto request = state_->Begin(state_, {options, false});
  const auto question = client::QuestionOf(request, state_->connection(), deadline);
  const client::Question::Answer* answer = question->Wait(deadline);
  if (answer == nullptr) question->Drop();
  TRY(answer != nullptr ? *answer : request->done()->outcome());
  TRY_ASSIGN(auto impl, SnapshotStream::Impl::Open(state_->client, state_->connection(),
                                                   request->Take().head, deadline));
  return SnapshotStream(std::move(impl));
}

}  // namespace hoplite

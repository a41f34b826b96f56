#include "sim/seams/sim_transport.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include "base/check.h"
#include "base/clock.h"
#include "net/await.h"
#include "net/timer.h"
#include "sim/seams/sim_stream.h"

namespace hoplite::net {

namespace {

using OnAccept = std::shared_ptr<const std::function<void(StreamPtr)>>;

}  // namespace

struct SimTransport::State : std::enable_shared_from_this<State> {
  State(InternetPtr internet_in, HostId host_in, std::vector<asio::io_context*> loops_in)
      : internet(std::move(internet_in)), host(host_in), loops(std::move(loops_in)) {}

  std::shared_ptr<SimStream> MakeStream(asio::io_context& loop, HalfPtr in, HalfPtr out,
                                        std::string peer) {
    auto stream =
        std::make_shared<SimStream>(internet, loop, std::move(in), std::move(out), std::move(peer));
    std::erase_if(streams, [](const auto& one) { return one.expired(); });
    std::erase_if(internet->streams, [](const auto& one) { return one.expired(); });
    streams.push_back(stream);
    internet->streams.push_back(stream);
    return stream;
  }

  static Task<Result<StreamPtr>> Connect(std::shared_ptr<State> self, std::string address,
                                         Duration timeout);
  void Accept(HostId from, const HalfPtr& there, const HalfPtr& back, const OnAccept& on_accept);

  const InternetPtr internet;
  const HostId host;
  const std::vector<asio::io_context*> loops;
  std::size_t next_loop = 0;
  std::string listening;
  std::vector<std::weak_ptr<SimStream>> streams;
  bool dead = false;
};

namespace {

class SimListener final : public Listener {
 public:
  SimListener(InternetPtr internet, const void* process, std::string address)
      : internet_(std::move(internet)), process_(process), address_(std::move(address)) {}
  ~SimListener() override { Stop(); }
  std::string address() const override { return address_; }
  void Stop() override { Forget(*internet_, process_, address_); }
  // A later process may listen there by now.
  static void Forget(Internet& internet, const void* process, const std::string& address) {
    const auto found = internet.listeners.find(address);
    const bool ours = found != internet.listeners.end() && found->second.process == process;
    if (ours) internet.listeners.erase(found);
  }

 private:
  const InternetPtr internet_;
  const void* const process_;
  const std::string address_;
};

Error CannotConnect(const std::string& address, const char* why) {
  return {ErrorCode::kUnavailable, "cannot connect to " + address + ": " + why};
}

}  // namespace

// What is under way keeps its half of the connection, and so itself.
Internet::~Internet() {
  for (const auto& weak : halves) {
    if (const HalfPtr half = weak.lock()) half->wire->Clear();
  }
}

void Internet::Abort(const std::string& what) { HOPLITE_CHECK(false, what.c_str()); }

SimTransport::SimTransport(InternetPtr internet, HostId host, std::vector<asio::io_context*> loops)
    : state_(std::make_shared<State>(std::move(internet), host, std::move(loops))) {}

SimTransport::SimTransport(asio::io_context& loop, const LinkOptions& options) {
  auto internet = std::make_shared<Internet>(loop, options, 1);
  const HostId host = internet->network.AddHost();
  state_ = std::make_shared<State>(std::move(internet), host, std::vector{&loop});
}

SimTransport::~SimTransport() = default;

Result<std::unique_ptr<Listener>> SimTransport::Listen(const std::string& address,
                                                       std::function<void(StreamPtr)> on_accept) {
  Internet& internet = *state_->internet;
  std::string bound = address;
  if (bound.ends_with(":0")) {
    bound.pop_back();
    bound += std::to_string(internet.next_number++);
  }
  const auto accept = [weak = std::weak_ptr(state_),
                       told =
                           std::make_shared<std::function<void(StreamPtr)>>(std::move(on_accept))](
                          HostId from, const HalfPtr& there, const HalfPtr& back) {
    if (const auto state = weak.lock()) state->Accept(from, there, back, told);
  };
  const Internet::Listening listening{state_.get(), state_->host, accept};
  if (!internet.listeners.try_emplace(bound, listening).second) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, "cannot listen on " + bound + ": it is in use"));
  }
  state_->listening = bound;
  return std::make_unique<SimListener>(state_->internet, state_.get(), bound);
}

void SimTransport::State::Accept(HostId from, const HalfPtr& there, const HalfPtr& back,
                                 const OnAccept& on_accept) {
  asio::io_context& loop = *loops[next_loop++ % loops.size()];
  const auto stream = MakeStream(loop, there, back, "host-" + std::to_string(from));
  asio::post(loop, [on_accept, stream] { (*on_accept)(stream); });
}

Task<Result<StreamPtr>> SimTransport::Connect(std::string address, Duration timeout) {
  return State::Connect(state_, std::move(address), timeout);
}

// Takes a round trip, and longer while one side doesn't hear the other.
Task<Result<StreamPtr>> SimTransport::State::Connect(std::shared_ptr<State> self,
                                                     std::string address, Duration timeout) {
  asio::io_context& loop = (co_await asio::this_coro::executor).context();
  Internet& internet = *self->internet;
  const auto found = internet.listeners.find(address);
  const Time deadline = Now() + timeout;
  const bool silent = self->dead || found == internet.listeners.end();
  const HostId peer = silent ? self->host : found->second.host;
  Time answered = Now() + 2 * internet.network.latency();
  if (!silent) {
    answered = std::max({answered, internet.network.blocked_until(self->host, peer),
                         internet.network.blocked_until(peer, self->host)});
  }
  const auto cut = internet.network.cut_off(self->host, peer);
  if (cut == SimNetwork::Cut::kSwallows) answered = deadline;
  Timer timer(loop);
  timer.expires_at(std::min(answered, deadline));
  asio::error_code ec;
  co_await timer.async_wait(Into(ec));
  if (answered >= deadline) co_return std::unexpected(CannotConnect(address, "no answer"));
  if (cut) co_return std::unexpected(CannotConnect(address, "refused"));
  const auto listening = internet.listeners.find(address);
  if (self->dead || listening == internet.listeners.end()) {
    co_return std::unexpected(CannotConnect(address, "nobody listens there"));
  }
  const auto there = std::make_shared<Half>(internet.network, self->host, listening->second.host);
  const auto back = std::make_shared<Half>(internet.network, listening->second.host, self->host);
  std::erase_if(internet.halves, [](const auto& one) { return one.expired(); });
  internet.halves.insert(internet.halves.end(), {there, back});
  auto stream = self->MakeStream(loop, back, there, address);
  listening->second.accept(self->host, there, back);
  co_return stream;
}

void SimTransport::Die(Death death) {
  state_->dead = true;
  SimListener::Forget(*state_->internet, state_.get(), state_->listening);
  for (const auto& weak : state_->streams) {
    if (const auto stream = weak.lock()) stream->Die(death);
  }
}

std::vector<std::shared_ptr<SimStream>> BusyStreams(const Internet& internet) {
  std::vector<std::shared_ptr<SimStream>> busy;
  for (const auto& weak : internet.streams) {
    auto stream = weak.lock();
    if (stream && stream->sends_objects()) busy.push_back(std::move(stream));
  }
  return busy;
}

bool BreakStream(const Internet& internet, std::uint64_t which) {
  const auto busy = BusyStreams(internet);
  if (!busy.empty()) busy[which % busy.size()]->Break();
  return !busy.empty();
}

}  // namespace hoplite::net

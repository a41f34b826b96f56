#include "directory/directory_server.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/shard_list.h"
#include "base/threads.h"
#include "base/try.h"
#include "directory/directory_service.h"
#include "directory/service_loop.h"
#include "directory/shard_door.h"
#include "directory/standing.h"
#include "directory/state_file.h"
#include "net/open_door.h"
#include "net/security.h"
#include "net/timer.h"

namespace hoplite::directory {

namespace {

// How long ended sessions may take to deliver their last words when the server stops.
constexpr std::chrono::milliseconds kLastWords(200);

// Later lives of a shard have later start times. If not, its state file says so, or a node.
std::uint64_t MicrosecondsSinceEpoch() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count());
}

// Whose a state file is. A shard whose address is written otherwise in the list has no place there.
std::string OwnerOf(const DirectoryConfig& config) {
  const auto place = PlaceOf(config.shards, config.listen);
  return fmt::format("cluster \"{}\", shard {} of {}", config.cluster,
                     place ? std::to_string(*place) : "?",
                     std::max<std::size_t>(config.shards.size(), 1));
}

std::shared_ptr<const Standing> StandingOf(const DirectoryConfig& config) {
  const auto place = PlaceOf(config.shards, config.listen);
  return std::make_shared<FixedStanding>(
      config.listen, place ? MembersOf(config.shards[*place]) : std::vector<std::string>());
}

ServiceOptions ForService(const DirectoryServerOptions& options, std::uint64_t incarnation) {
  ServiceOptions result;
  result.planner.incarnation = incarnation;
  result.planner.inline_limit_bytes = options.inline_limit_bytes;
  result.planner.tombstone = options.tombstone;
  result.planner.orphan_grace = options.orphan_grace;
  result.planner.inline_total_bytes = options.inline_total_bytes;
  result.planner.recovery_window = options.recovery_window;
  result.planner.recovery_limit = options.recovery_limit;
  result.heartbeat = options.heartbeat;
  result.lease = options.lease;
  result.grace = options.grace;
  result.session_queue_bytes = options.session_queue_bytes;
  return result;
}

// The loop of a service. An alarm that is put off, as with every sign of life, costs nothing: the
// timer looks when it rings.
class ShardLoop final : public ServiceLoop {
 public:
  explicit ShardLoop(asio::io_context& loop) : loop_(loop) {}

  void Post(Work work) override { loop_.Post(std::move(work)); }
  void After(Duration delay, Work work) override { loop_.After(delay, std::move(work)); }
  void SetAlarm(Time when, Work work) override {
    due_ = when;
    work_ = std::move(work);
    if (due_ < rings_) Arm();
  }

 private:
  void Arm() {
    rings_ = due_;
    loop_.SetAlarm(rings_, [this] { Ring(); });
  }
  void Ring() {
    rings_ = kNever;
    if (due_ == kNever) return;
    if (due_ > Now()) return Arm();
    due_ = kNever;
    std::exchange(work_, nullptr)();
  }

  AsioServiceLoop loop_;
  Time due_ = kNever;
  Time rings_ = kNever;  // not after due_
  Work work_;
};

// What a server begins with: its loop, the socket that listens, and some sessions.
constexpr std::size_t kDescriptors = 32;
constexpr std::size_t kThreads = 1;

}  // namespace

class DirectoryServer::Impl {
 public:
  explicit Impl(const DirectoryServerOptions& options) : options_(options) {}
  ~Impl() { Stop(); }

  Result<void> Listen();
  void Stop();
  const std::string& address() const { return address_; }
  net::SecurityPtr security() const { return security_; }
  const std::shared_ptr<DirectoryService>& service() const { return service_; }

 private:
  Result<Admission::Settings> BeginLife();

  const DirectoryServerOptions options_;
  std::optional<StateFile> state_file_;
  std::unique_ptr<asio::io_context> loop_ = std::make_unique<asio::io_context>(1);
  std::shared_ptr<ShardDoor> door_;
  std::shared_ptr<DirectoryService> service_;
  std::unique_ptr<net::Timer> last_words_;
  std::string address_;
  net::SecurityPtr security_;
  std::thread thread_;
  Mutex stopping_;  // held by Stop: who comes second waits for the first
};

Result<Admission::Settings> DirectoryServer::Impl::BeginLife() {
  Admission::Settings life{
      .shards = options_.shards, .cluster = options_.cluster, .address = options_.listen};
  if (!options_.state_file.empty()) {
    TRY_ASSIGN(state_file_, StateFile::Open(options_.state_file, OwnerOf(options_)));
    life.certain = state_file_->kept().has_value();
    life.keep = [this](const ShardState& state) { return state_file_->Write(state); };
  }
  life.state = NextLife(state_file_ ? state_file_->kept() : std::nullopt, RandomId(),
                        MicrosecondsSinceEpoch());
  if (life.keep) TRY(life.keep(life.state));
  return life;
}

Result<void> DirectoryServer::Impl::Listen() {
  TRY_ASSIGN(Admission::Settings life, BeginLife());
  TRY(net::RequireNoOpenDoor(options_.listen, options_.security));
  TRY_ASSIGN(security_,
             net::Security::Load(options_.security, net::TlsRole::kDirectory, options_.cluster));
  TRY_ASSIGN(door_, ShardDoor::Open(*loop_, options_.listen, security_));
  address_ = door_->address();
  ServiceOptions service = ForService(options_, life.state.incarnation);
  service.standing = StandingOf(options_);
  service_ = std::make_shared<DirectoryService>(std::make_unique<ShardLoop>(*loop_), service,
                                                Admission(std::move(life)));
  last_words_ = std::make_unique<net::Timer>(*loop_);
  door_->Start(service_, options_.lease);
  TRY_ASSIGN(thread_, StartThread([&loop = *loop_] { loop.run(); }));
  log::Info("directory shard listens on {}", address());
  return {};
}

// Also of one that could not listen.
void DirectoryServer::Impl::Stop() {
  const MutexLock lock(stopping_);
  if (thread_.joinable()) {
    asio::post(*loop_, [this] {
      service_->Shutdown(Error(ErrorCode::kUnavailable, "the directory shard stops"));
      last_words_->expires_after(kLastWords);
      last_words_->async_wait([this](const asio::error_code&) { loop_->stop(); });
      door_->Stop([this] { loop_->stop(); });
    });
    thread_.join();
    door_->CloseAll();
    // The service hears of the sessions that were closed: it would keep them, and they keep it. The
    // other of the two that stop the loop may do so once more.
    do {
      loop_->restart();
    } while (loop_->poll() > 0);
  }
  // What waits for a time goes with the loop.
  last_words_.reset();
  service_.reset();
  door_.reset();
  loop_.reset();
  state_file_.reset();
}

Result<std::unique_ptr<DirectoryServer>> DirectoryServer::Start(
    const DirectoryServerOptions& options) {
  TRY(options.Validate());
  TRY(RequireDescriptors(kDescriptors, "a directory shard"));
  TRY(RequireThreads(kThreads, "a directory shard"));
  TRY_ASSIGN(std::unique_ptr<Impl> impl, OrExhausted("a directory's parts", [&] {
               return Result<std::unique_ptr<Impl>>(std::make_unique<Impl>(options));
             }));
  TRY(OrExhausted("a directory's parts", [&] { return impl->Listen(); }));
  return std::unique_ptr<DirectoryServer>(new DirectoryServer(std::move(impl)));
}

DirectoryServer::DirectoryServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DirectoryServer::~DirectoryServer() = default;

const std::string& DirectoryServer::address() const { return impl_->address(); }
net::SecurityPtr DirectoryServer::security() const { return impl_->security(); }
std::shared_ptr<DirectoryService> DirectoryServer::service() const { return impl_->service(); }
Metrics DirectoryServer::metrics() const {
  std::promise<Metrics> said;
  const DirectoryService& shard = *impl_->service();
  impl_->service()->Post([&] { said.set_value(shard.MetricsNow()); });
  return said.get_future().get();
}
void DirectoryServer::Stop() { impl_->Stop(); }

}  // namespace hoplite::directory

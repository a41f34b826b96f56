#include "directory/directory_server.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/try.h"
#include "directory/directory_service.h"
#include "directory/grpc_acceptor.h"
#include "directory/grpc_endpoint.h"
#include "directory/grpc_queue.h"
#include "directory/service_loop.h"
#include "directory/state_file.h"

namespace hoplite::directory {

namespace {

// A connection without a call is closed after this time.
constexpr std::chrono::minutes kIdleConnection(1);
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
  const auto own = std::ranges::find(config.shards, config.listen);
  const auto place = own - config.shards.begin();
  return fmt::format("cluster \"{}\", shard {} of {}", config.cluster,
                     own == config.shards.end() ? "?" : std::to_string(place),
                     std::max<std::size_t>(config.shards.size(), 1));
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

// The loop of a service on the thread of gRPC's queue. Its times come from a thread that does
// nothing else: gRPC counts in milliseconds.
class QueueLoop final : public ServiceLoop {
 public:
  QueueLoop(GrpcQueue& queue, asio::io_context& times) : queue_(queue), times_(times) {}

  void Post(Work work) override { queue_.Post(std::move(work)); }
  void After(Duration delay, Work work) override { times_.After(delay, Posting(std::move(work))); }
  // What is put off, as with every sign of life, wakes nobody: the alarm looks when it rings.
  void SetAlarm(Time when, Work work) override {
    due_ = when;
    work_ = std::move(work);
    if (due_ < rings_) Arm();
  }

 private:
  Work Posting(Work work) {
    return [&queue = queue_, work = std::move(work)] { queue.Post(work); };
  }
  void Arm() {
    rings_ = due_;
    times_.SetAlarm(rings_, Posting([this] { Ring(); }));
  }
  void Ring() {
    rings_ = kNever;
    if (due_ == kNever) return;
    if (due_ > Now()) return Arm();
    due_ = kNever;
    std::exchange(work_, nullptr)();
  }

  GrpcQueue& queue_;
  AsioServiceLoop times_;
  Time due_ = kNever;
  Time rings_ = kNever;  // not after due_
  Work work_;
};

// What a server begins with: loops, the socket that listens, and some sessions.
constexpr std::size_t kDescriptors = 32;
// Its own, and those of gRPC.
constexpr std::size_t kThreads = 12;

}  // namespace

class DirectoryServer::Impl {
 public:
  explicit Impl(const DirectoryServerOptions& options) : options_(options) {}
  ~Impl() { Stop(); }

  Result<void> Listen();
  void Stop();
  const std::string& address() const { return acceptor_->address(); }

 private:
  Result<Admission::Settings> BeginLife();

  const DirectoryServerOptions options_;
  std::optional<StateFile> state_file_;
  asio::io_context times_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{times_.get_executor()};
  std::thread times_thread_;
  std::unique_ptr<GrpcAcceptor> acceptor_;
  std::unique_ptr<GrpcAcceptor::Gate> gate_;
  std::unique_ptr<GrpcQueue> queue_;
  std::shared_ptr<DirectoryService> service_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<grpc::Server> server_;
  bool serving_ = false;  // the queue's thread runs
  Mutex stopping_;        // held by Stop: who comes second waits for the first
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
  TRY_ASSIGN(acceptor_, GrpcAcceptor::Open(options_.listen));
  grpc::ServerBuilder builder;
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  gate_ = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                               grpc::InsecureServerCredentials());
  const auto milliseconds = [](Duration duration) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
  };
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             milliseconds(options_.handshake));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(kIdleConnection));

  std::unique_ptr<grpc::ServerCompletionQueue> arrivals = builder.AddCompletionQueue();
  grpc::ServerCompletionQueue& queue = *arrivals;
  queue_ = std::make_unique<GrpcQueue>(std::move(arrivals));
  const ServiceOptions service = ForService(options_, life.state.incarnation);
  service_ = std::make_shared<DirectoryService>(std::make_unique<QueueLoop>(*queue_, times_),
                                                service, Admission(std::move(life)));
  endpoint_ = std::make_unique<GrpcEndpoint>(service_, *queue_, queue);
  builder.RegisterService(&endpoint_->calls());
  server_ = builder.BuildAndStart();
  if (!server_) {
    return std::unexpected(Error(ErrorCode::kUnavailable,
                                 fmt::format("gRPC does not start to serve {}", options_.listen)));
  }
  TRY_ASSIGN(times_thread_, StartThread([this] { times_.run(); }));
  queue_->Start();
  serving_ = true;
  endpoint_->Start();
  TRY(acceptor_->Start(*gate_));
  log::Info("directory shard listens on {}", address());
  return {};
}

// Also of one that could not listen.
void DirectoryServer::Impl::Stop() {
  const MutexLock lock(stopping_);
  if (!queue_) return;
  if (serving_) {
    std::promise<void> told;
    queue_->Post([this, &told] {
      service_->Shutdown(Error(ErrorCode::kUnavailable, "the directory shard stops"));
      told.set_value();
    });
    told.get_future().wait();
  }
  acceptor_->Stop();
  if (server_) server_->Shutdown(std::chrono::system_clock::now() + kLastWords);
  if (endpoint_) endpoint_->WaitForNone();
  times_.stop();
  if (times_thread_.joinable()) times_thread_.join();
  queue_->Stop();
  state_file_.reset();
  server_.reset();
  queue_.reset();
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
void DirectoryServer::Stop() { impl_->Stop(); }

}  // namespace hoplite::directory

#include "admin/admin_server.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include "admin/admin_service.h"
#include "admin/guarded_port.h"
#include "admin/questions.h"
#include "admin/waits.h"
#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/shard_list.h"
#include "base/threads.h"
#include "base/try.h"
#include "base/units.h"
#include "net/timer.h"

namespace hoplite::admin {
namespace {

// What it begins with; a connection takes three more.
constexpr std::size_t kDescriptors = 16;
constexpr std::size_t kThreads = 24;
// Of its threads that serve the reflection.
constexpr int kReflectionThreads = 8;
constexpr std::size_t kQuotaBytes = 64_MiB;
constexpr int kMaxRequestBytes = 64 * 1024;
constexpr int kMaxCallsOfConnection = 100;
// How often it looks whether the shard still collects.
constexpr std::chrono::milliseconds kLook(50);
// How long calls may take to deliver their answers when the server stops.
constexpr std::chrono::milliseconds kLastWords(500);

ShardPlace PlaceOf(const AdminOptions& options) {
  ShardPlace place{options.shards, {}};
  if (place.shards.empty()) place.shards.push_back(options.shard);
  place.index = hoplite::PlaceOf(place.shards, options.shard);
  return place;
}

void Bound(grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("hoplite admin");
  quota.Resize(kQuotaBytes).SetMaxThreads(kReflectionThreads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  for (const auto& [name, value] : {
           std::pair(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfConnection),
           std::pair(GRPC_ARG_MAX_METADATA_SIZE, 8 * 1024),
           // It would make frames longer than Http2Guard allows.
           std::pair(GRPC_ARG_HTTP2_BDP_PROBE, 0),
           // A client whose host is gone leaves no call behind.
           std::pair(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000),
           std::pair(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000),
           std::pair(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 300'000),
       }) {
    builder.AddChannelArgument(name, value);
  }
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(const AdminOptions& options, std::shared_ptr<directory::DirectoryService> shard)
      : shard_(std::move(shard)),
        questions_(std::make_shared<Questions>(loop_, shard_)),
        waits_(Waits::Make(shard_)),
        service_(PlaceOf(options), questions_, waits_) {}
  ~Impl();

  Result<void> Listen(const AdminOptions& options);
  const std::string& address() const { return address_; }

 private:
  Result<void> Build();
  void Serve(int descriptor) { grpc::AddInsecureChannelFromFd(server_.get(), descriptor); }
  void LookAtShard();
  void TellHealth(bool serves);
  void StopPort();
  void StopCalls();

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> stay_ = asio::make_work_guard(loop_);
  const std::shared_ptr<directory::DirectoryService> shard_;
  const std::shared_ptr<Questions> questions_;
  const std::shared_ptr<Waits> waits_;
  AdminService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GuardedPort> port_;
  net::Timer look_{loop_};
  bool stopping_ = false;  // on the loop
  std::string address_;
  std::thread thread_;
};

Result<void> AdminServer::Impl::Listen(const AdminOptions& options) {
  TRY(Build());
  TRY_ASSIGN(port_, GuardedPort::Open(loop_, options.listen, options.security,
                                      [this](int end) { Serve(end); }));
  address_ = port_->address();
  TellHealth(false);
  LookAtShard();
  TRY_ASSIGN(thread_, StartThread([this] { loop_.run(); }));
  log::Info("the admin service listens on {}", address_);
  return {};
}

Result<void> AdminServer::Impl::Build() {
  // Never undone: once a write had to wait, the end of gRPC 1.51 waits for up to 10 s.
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.RegisterService(&service_);
  Bound(builder);
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return {};
  return std::unexpected(Error(ErrorCode::kUnavailable, "gRPC can't start the admin service"));
}

void AdminServer::Impl::TellHealth(bool serves) {
  grpc::HealthCheckServiceInterface& health = *server_->GetHealthCheckService();
  health.SetServingStatus("", serves);
  health.SetServingStatus(v1::Admin::service_full_name(), serves);
}

// It collects only after its start.
void AdminServer::Impl::LookAtShard() {
  shard_->Post([this] {
    const bool collects = shard_->Collects().has_value();
    asio::post(loop_, [this, collects] {
      if (stopping_) return;
      if (!collects) return TellHealth(true);
      look_.expires_after(kLook);
      look_.async_wait([this](const asio::error_code& error) {
        if (!error) LookAtShard();
      });
    });
  });
}

// Also of one that could not listen.
AdminServer::Impl::~Impl() {
  if (thread_.joinable()) StopPort();
  if (server_ != nullptr) StopCalls();
  if (thread_.joinable()) {
    asio::post(loop_, [this] {
      port_->CloseAll();
      stay_.reset();
    });
    thread_.join();
  }
  // What was posted to the shard's loop before refers to this.
  std::promise<void> reached;
  shard_->Post([&reached] { reached.set_value(); });
  reached.get_future().wait();
}

// Afterwards no connection is handed to gRPC any more.
void AdminServer::Impl::StopPort() {
  std::promise<void> stopped;
  asio::post(loop_, [this, &stopped] {
    stopping_ = true;
    look_.cancel();
    port_->Stop();
    stopped.set_value();
  });
  stopped.get_future().wait();
}

void AdminServer::Impl::StopCalls() {
  server_->GetHealthCheckService()->Shutdown();
  waits_->EndAll({ErrorCode::kUnavailable, "the directory shard stops"});
  server_->Shutdown(std::chrono::system_clock::now() + kLastWords);
  server_->Wait();
}

Result<std::unique_ptr<AdminServer>> AdminServer::Start(
    const AdminOptions& options, std::shared_ptr<directory::DirectoryService> shard) {
  TRY(RequireDescriptors(kDescriptors, "the admin service"));
  TRY(RequireThreads(kThreads, "the admin service"));
  TRY_ASSIGN(
      std::unique_ptr<Impl> impl, OrExhausted("the admin service", [&] {
        return Result<std::unique_ptr<Impl>>(std::make_unique<Impl>(options, std::move(shard)));
      }));
  TRY(OrExhausted("the admin service", [&] { return impl->Listen(options); }));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(impl)));
}

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() = default;

const std::string& AdminServer::address() const { return impl_->address(); }

}  // namespace hoplite::admin

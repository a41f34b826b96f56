#include "directory/directory_server.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "directory/directory_service.h"
#include "directory/grpc_acceptor.h"
#include "directory/grpc_session.h"
#include "hoplite/v1/directory.grpc.pb.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {

namespace {

// A connection without a call is closed after this time.
constexpr std::chrono::minutes kIdleConnection(1);
// How long ended sessions may take to deliver their last words when the server stops.
constexpr std::chrono::milliseconds kLastWords(200);

// Later lives of a shard have later start times; a node that saw an even newer one says so.
std::uint64_t NewIncarnation() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count());
}

ServiceOptions ForService(const DirectoryServerOptions& options) {
  ServiceOptions result;
  result.planner.incarnation = NewIncarnation();
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

void Fill(const protocol::StatusPage& status, v1::StatusReply& reply) {
  for (const auto& node : status.nodes) *reply.add_nodes() = wire::ToProto(node);
  for (const auto& object : status.page.objects) *reply.add_objects() = wire::ToProto(object);
  reply.set_more(status.page.more);
  *reply.mutable_shard() = wire::ToProto(status.shard);
}

// gRPC's calls, each answered on its own thread or by the service.
class Endpoint final : public v1::Directory::CallbackService {
 public:
  explicit Endpoint(std::shared_ptr<DirectoryService> service) : service_(std::move(service)) {}

  grpc::ServerBidiReactor<v1::NodeMessage, v1::ShardMessage>* Session(
      grpc::CallbackServerContext* context) override {
    return GrpcSession::Start(service_, context);
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest* request,
                                   v1::StatusReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Result<protocol::PageRequest> page = wire::FromProto(*request);
    if (!page) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, page.error().message});
      return reactor;
    }
    service_->Status(*page, [this, reactor, reply](protocol::StatusPage status) {
      asio::post(translators_, [reactor, reply, status = std::move(status)] {
        Fill(status, *reply);
        reactor->Finish(grpc::Status::OK);
      });
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* Info(grpc::CallbackServerContext* context,
                                 const v1::InfoRequest* request, v1::InfoReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Result<ObjectId> object = ObjectId::FromBytes(request->object());
    if (!object) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, object.error().message});
      return reactor;
    }
    service_->Find(*object, [reactor, reply](const Result<protocol::ObjectView>& found) {
      if (!found) {
        const bool deleted = found.error().code == ErrorCode::kDeleted;
        return reactor->Finish(
            {deleted ? grpc::StatusCode::FAILED_PRECONDITION : grpc::StatusCode::NOT_FOUND,
             found.error().message});
      }
      *reply->mutable_object() = wire::ToProto(*found);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  const std::shared_ptr<DirectoryService> service_;
  asio::thread_pool translators_{1};  // they translate pictures: the loop has sessions to serve
};

// What a server begins with: loops, the socket that listens, and some sessions.
constexpr std::size_t kDescriptors = 32;

}  // namespace

class DirectoryServer::Impl {
 public:
  explicit Impl(const DirectoryServerOptions& options)
      : service_(std::make_shared<DirectoryService>(
            loop_, ForService(options),
            Admission({options.shards, options.cluster, options.listen, RandomId()}))),
        endpoint_(service_) {}
  ~Impl() { Stop(); }

  Result<void> Listen(const DirectoryServerOptions& options);
  void Stop();
  const std::string& address() const { return acceptor_->address(); }

 private:
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  std::shared_ptr<DirectoryService> service_;
  Endpoint endpoint_;
  std::unique_ptr<GrpcAcceptor> acceptor_;
  std::unique_ptr<GrpcAcceptor::Gate> gate_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

Result<void> DirectoryServer::Impl::Listen(const DirectoryServerOptions& options) {
  TRY_ASSIGN(acceptor_, GrpcAcceptor::Open(options.listen));
  grpc::ServerBuilder builder;
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  gate_ = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                               grpc::InsecureServerCredentials());
  const auto milliseconds = [](Duration duration) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
  };
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(options.handshake));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(kIdleConnection));
  builder.RegisterService(&endpoint_);
  TRY_ASSIGN(thread_, StartThread([this] { loop_.run(); }));
  server_ = builder.BuildAndStart();
  if (!server_) {
    return std::unexpected(Error(ErrorCode::kUnavailable,
                                 fmt::format("gRPC does not start to serve {}", options.listen)));
  }
  TRY(acceptor_->Start(*gate_));
  log::Info("directory shard listens on {}", address());
  return {};
}

void DirectoryServer::Impl::Stop() {
  if (!thread_.joinable()) return;
  std::promise<void> told;
  asio::post(loop_, [this, &told] {
    service_->Shutdown(Error(ErrorCode::kUnavailable, "the directory shard stops"));
    told.set_value();
  });
  told.get_future().wait();
  acceptor_->Stop();
  if (server_) server_->Shutdown(std::chrono::system_clock::now() + kLastWords);
  server_.reset();
  // Stops behind the last words of the sessions, when the service has dropped them and they have
  // dropped the service.
  asio::post(loop_, [this] { loop_.stop(); });
  thread_.join();
}

Result<std::unique_ptr<DirectoryServer>> DirectoryServer::Start(
    const DirectoryServerOptions& options) {
  TRY(options.Validate());
  TRY(RequireDescriptors(kDescriptors, "a directory shard"));
  TRY_ASSIGN(std::unique_ptr<Impl> impl, OrExhausted("a directory's parts", [&] {
               return Result<std::unique_ptr<Impl>>(std::make_unique<Impl>(options));
             }));
  TRY(impl->Listen(options));
  return std::unique_ptr<DirectoryServer>(new DirectoryServer(std::move(impl)));
}

DirectoryServer::DirectoryServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DirectoryServer::~DirectoryServer() = default;

const std::string& DirectoryServer::address() const { return impl_->address(); }
void DirectoryServer::Stop() { impl_->Stop(); }

}  // namespace hoplite::directory

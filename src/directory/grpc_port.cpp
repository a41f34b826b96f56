#include "directory/grpc_port.h"

#include <chrono>
#include <set>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "base/try.h"
#include "directory/away.h"
#include "directory/grpc_connection.h"
#include "directory/grpc_queue.h"
#include "directory/in_flight.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {

namespace {

// The answer about an object with very many holders must fit, for example.
constexpr int kMaxReplyBytes = 256 * 1024 * 1024;

// A channel of its own for each attempt: gRPC's pauses between connects (never below 100 ms) stay
// out of the way of ours, and no attempt inherits a broken connection.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // the limit of one connect
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

ErrorCode CodeOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::NOT_FOUND:
      return ErrorCode::kNotFound;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return ErrorCode::kDeleted;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return ErrorCode::kTimeout;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return ErrorCode::kInvalidArgument;
    case grpc::StatusCode::CANCELLED:
      return ErrorCode::kCancelled;
    default:
      return ErrorCode::kUnavailable;
  }
}

Result<protocol::StatusPage> Read(const v1::StatusReply& reply) {
  protocol::StatusPage status;
  for (const v1::NodeView& node : reply.nodes()) {
    TRY_ASSIGN(protocol::NodeView one, wire::FromProto(node));
    status.nodes.push_back(std::move(one));
  }
  for (const v1::ObjectView& object : reply.objects()) {
    TRY_ASSIGN(protocol::ObjectView one, wire::FromProto(object));
    status.page.objects.push_back(std::move(one));
  }
  status.page.more = reply.more();
  status.shard = wire::FromProto(reply.shard());
  return status;
}

Result<protocol::ObjectView> Read(const v1::InfoReply& reply) {
  return wire::FromProto(reply.object());
}

// What a question needs until its answer.
template <typename Reply>
struct Call {
  InFlight::Token flight;  // goes last
  grpc::ClientContext context;
  Reply reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
};

class GrpcStream final : public Connection {
 public:
  explicit GrpcStream(std::shared_ptr<GrpcConnection> connection)
      : connection_(std::move(connection)) {}
  void Send(wire::NodeMessage message) override { connection_->Send(message); }
  void Close() override { connection_->Cancel(); }

 private:
  const std::shared_ptr<GrpcConnection> connection_;
};

// Used on the node's loop.
class GrpcPort final : public ShardPort {
 public:
  GrpcPort(asio::io_context& loop, std::shared_ptr<GrpcQueue> queue, std::string address)
      : queue_(std::move(queue)), loop_(loop), address_(std::move(address)) {}
  ~GrpcPort() override { Stop(); }

  std::unique_ptr<Connection> Open(wire::Hello hello,
                                   std::function<void(wire::ShardMessage)> receive) override {
    stub_ = v1::Directory::NewStub(NewChannel(address_));
    auto connection = GrpcConnection::Start(loop_, *queue_, *stub_, address_, std::move(receive),
                                            in_flight_.Begin());
    connection->Send({.hello = std::move(hello)});
    return std::make_unique<GrpcStream>(std::move(connection));
  }

  void Find(const ObjectId& object, Duration timeout,
            std::function<void(Result<protocol::ObjectView>)> done) override {
    const auto call = NewCall<v1::InfoReply>(timeout);
    v1::InfoRequest request;
    request.set_object(std::string(object.view()));
    call->reader = stub_->AsyncInfo(&call->context, request, &queue_->queue());
    Answer(call, std::move(done));
  }

  void Status(const protocol::PageRequest& page, Duration timeout,
              std::function<void(Result<protocol::StatusPage>)> done) override {
    const auto call = NewCall<v1::StatusReply>(timeout);
    call->reader = stub_->AsyncStatus(&call->context, wire::ToProto(page), &queue_->queue());
    Answer(call, std::move(done));
  }

  void Stop() override {
    for (const auto& cancel : std::exchange(unary_, {})) {
      if (const auto context = cancel.lock()) context->TryCancel();
    }
    in_flight_.WaitForNone();
  }

 private:
  template <typename Reply>
  std::shared_ptr<Call<Reply>> NewCall(Duration timeout) {
    if (!stub_) stub_ = v1::Directory::NewStub(NewChannel(address_));
    auto call = std::make_shared<Call<Reply>>();
    call->context.set_deadline(std::chrono::system_clock::now() +
                               std::chrono::duration_cast<std::chrono::microseconds>(timeout));
    call->flight = in_flight_.Begin();
    std::erase_if(unary_, [](const auto& one) { return one.expired(); });
    unary_.push_back(std::shared_ptr<grpc::ClientContext>(call, &call->context));
    return call;
  }

  Error Failure(const grpc::Status& status) const {
    const ErrorCode code = CodeOf(status);
    if (code == ErrorCode::kTimeout) return {code, Away(address_, kNoAnswer)};
    if (code == ErrorCode::kUnavailable) return {code, Away(address_, status.error_message())};
    return {code, fmt::format("directory shard {}: {}", address_, status.error_message())};
  }

  template <typename Reply, typename View>
  void Answer(const std::shared_ptr<Call<Reply>>& call, std::function<void(Result<View>)> done) {
    void* tag = GrpcQueue::Tag([this, call, done = std::move(done)](bool) {
      Result<View> result =
          call->status.ok() ? Read(call->reply) : std::unexpected(Failure(call->status));
      asio::post(loop_, [done, result = std::move(result)]() mutable { done(std::move(result)); });
    });
    call->reader->Finish(&call->reply, &call->status, tag);
  }

  const std::shared_ptr<GrpcQueue> queue_;
  asio::io_context& loop_;
  const std::string address_;
  InFlight in_flight_;
  std::unique_ptr<v1::Directory::Stub> stub_;  // of the newest attempt
  std::vector<std::weak_ptr<grpc::ClientContext>> unary_;
};

}  // namespace

std::shared_ptr<GrpcQueue> StartGrpcQueue() {
  auto queue = std::make_shared<GrpcQueue>(std::make_unique<grpc::CompletionQueue>());
  queue->Start();
  return queue;
}

std::unique_ptr<ShardPort> MakeGrpcPort(asio::io_context& loop, std::shared_ptr<GrpcQueue> queue,
                                        std::string address) {
  return std::make_unique<GrpcPort>(loop, std::move(queue), std::move(address));
}

}  // namespace hoplite::directory

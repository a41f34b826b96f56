#include "directory/grpc_endpoint.h"

#include <utility>

#include <asio/post.hpp>

#include "directory/grpc_session.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

v1::StatusReply ReplyOf(const protocol::StatusPage& status) {
  v1::StatusReply reply;
  for (const auto& node : status.nodes) *reply.add_nodes() = wire::ToProto(node);
  for (const auto& object : status.page.objects) *reply.add_objects() = wire::ToProto(object);
  reply.set_more(status.page.more);
  *reply.mutable_shard() = wire::ToProto(status.shard);
  return reply;
}

// When the answer has left, gRPC is done with the call.
template <typename CallPtr>
void* DoneWith(CallPtr call) {
  return GrpcQueue::Tag([call = std::move(call)](bool) {});
}

}  // namespace

void GrpcEndpoint::Start() {
  AwaitSession();
  AwaitStatus();
  AwaitInfo();
}

// A call that is not there, `ok` is false, never comes: the server stops.
void GrpcEndpoint::AwaitSession() {
  const auto call = std::make_shared<GrpcSession::Call>();
  call->flight = in_flight_.Begin();
  calls_.RequestSession(&call->context, &call->stream, &queue_.queue(), &arrivals_,
                        GrpcQueue::Tag([this, call](bool ok) {
                          if (!ok) return;
                          AwaitSession();
                          GrpcSession::Start(service_, queue_, call);
                        }));
}

void GrpcEndpoint::AwaitStatus() {
  const auto call = std::make_shared<StatusCall>();
  call->flight = in_flight_.Begin();
  calls_.RequestStatus(&call->context, &call->request, &call->responder, &queue_.queue(),
                       &arrivals_, GrpcQueue::Tag([this, call](bool ok) {
                         if (!ok) return;
                         AwaitStatus();
                         Answer(call);
                       }));
}

void GrpcEndpoint::AwaitInfo() {
  const auto call = std::make_shared<InfoCall>();
  call->flight = in_flight_.Begin();
  calls_.RequestInfo(&call->context, &call->request, &call->responder, &queue_.queue(), &arrivals_,
                     GrpcQueue::Tag([this, call](bool ok) {
                       if (!ok) return;
                       AwaitInfo();
                       Answer(call);
                     }));
}

void GrpcEndpoint::Answer(const std::shared_ptr<StatusCall>& call) {
  const Result<protocol::PageRequest> page = wire::FromProto(call->request);
  if (!page) {
    return call->responder.FinishWithError(
        {grpc::StatusCode::INVALID_ARGUMENT, page.error().message}, DoneWith(call));
  }
  service_->Status(*page, [this, call](protocol::StatusPage status) {
    asio::post(translators_, [call, status = std::move(status)] {
      call->responder.Finish(ReplyOf(status), grpc::Status::OK, DoneWith(call));
    });
  });
}

void GrpcEndpoint::Answer(const std::shared_ptr<InfoCall>& call) {
  const Result<ObjectId> object = ObjectId::FromBytes(call->request.object());
  if (!object) {
    return call->responder.FinishWithError(
        {grpc::StatusCode::INVALID_ARGUMENT, object.error().message}, DoneWith(call));
  }
  service_->Find(*object, [call](const Result<protocol::ObjectView>& found) {
    if (!found) {
      const bool deleted = found.error().code == ErrorCode::kDeleted;
      return call->responder.FinishWithError(
          {deleted ? grpc::StatusCode::FAILED_PRECONDITION : grpc::StatusCode::NOT_FOUND,
           found.error().message},
          DoneWith(call));
    }
    v1::InfoReply reply;
    *reply.mutable_object() = wire::ToProto(*found);
    call->responder.Finish(reply, grpc::Status::OK, DoneWith(call));
  });
}

}  // namespace hoplite::directory

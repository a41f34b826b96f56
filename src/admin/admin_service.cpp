#include "admin/admin_service.h"

#include <utility>

#include <fmt/format.h>

#include "admin/convert.h"
#include "directory/directory_client.h"

namespace hoplite::admin {
namespace {

// Before each message within another: its number and its length.
constexpr std::size_t kFieldBytes = 5;

std::function<bool()> Wanted(const std::shared_ptr<Call>& call) {
  return [call] { return call->wanted(); };
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::Status(grpc::CallbackServerContext* context,
                                               const v1::StatusRequest* request,
                                               v1::StatusResponse* response) {
  const std::shared_ptr<Call> call = Call::Begin(*context, unread_);
  const Result<protocol::PageRequest> page = ReadPage(*request);
  if (!page) {
    call->Answer(ToStatus(page.error()));
    return call.get();
  }
  questions_->Status(*page, Wanted(call), [this, call, response](Result<Picture> picture) {
    if (!picture) return call->Answer(ToStatus(picture.error()));
    Fill(*picture, *response);
    call->Answer(grpc::Status::OK, response->ByteSizeLong());
  });
  return call.get();
}

void AdminService::Fill(const Picture& picture, v1::StatusResponse& response) const {
  v1::Shard& shard = *response.mutable_shard();
  shard = ToProto(picture.page.shard);
  if (place_.index) shard.set_index(static_cast<std::uint32_t>(*place_.index));
  shard.set_shard_count(static_cast<std::uint32_t>(place_.shards.size()));
  for (const auto& node : picture.page.nodes) *response.add_nodes() = ToProto(node);
  std::size_t bytes = response.ByteSizeLong() + 2;  // with `more`
  for (const Known& known : picture.objects) {
    v1::Object object = ToProto(known);
    bytes += object.ByteSizeLong() + kFieldBytes;
    if (bytes > kMaxAnswerBytes && response.objects_size() > 0) break;
    *response.add_objects() = std::move(object);
  }
  const bool all = response.objects_size() == static_cast<int>(picture.objects.size());
  response.set_more(!all || picture.page.page.more);
}

grpc::ServerUnaryReactor* AdminService::Info(grpc::CallbackServerContext* context,
                                             const v1::InfoRequest* request,
                                             v1::InfoResponse* response) {
  const std::shared_ptr<Call> call = Call::Begin(*context, unread_);
  const Result<std::vector<ObjectId>> objects = ReadIds(request->object_ids());
  const grpc::Status sound = objects ? CheckPlace(*objects) : ToStatus(objects.error());
  if (!sound.ok()) {
    call->Answer(sound);
    return call.get();
  }
  questions_->Info(*objects, Wanted(call), [call, response](Result<std::vector<Known>> all) {
    if (!all) return call->Answer(ToStatus(all.error()));
    for (const Known& known : *all) *response->add_objects() = ToProto(known);
    const std::size_t bytes = response->ByteSizeLong();
    if (bytes <= kMaxAnswerBytes || all->size() == 1) return call->Answer(grpc::Status::OK, bytes);
    response->Clear();
    call->Answer({grpc::StatusCode::RESOURCE_EXHAUSTED,
                  fmt::format("the answer has {} bytes, at most {} are allowed: ask about fewer "
                              "objects at once",
                              bytes, kMaxAnswerBytes)});
  });
  return call.get();
}

grpc::ServerUnaryReactor* AdminService::WaitExists(grpc::CallbackServerContext* context,
                                                   const v1::WaitExistsRequest* request,
                                                   v1::WaitExistsResponse* response) {
  const std::shared_ptr<Call> call = Call::Begin(*context, unread_);
  const Result<std::vector<ObjectId>> objects = ReadIds(request->object_ids());
  grpc::Status sound = objects ? CheckPlace(*objects) : ToStatus(objects.error());
  if (sound.ok() && request->count() > objects->size()) {
    sound = {grpc::StatusCode::INVALID_ARGUMENT,
             fmt::format("count is {}, of {} objects", request->count(), objects->size())};
  }
  if (!sound.ok()) {
    call->Answer(sound);
    return call.get();
  }
  const std::size_t count = request->count() == 0 ? objects->size() : request->count();
  const auto done = [call, response](Result<Waits::Presences> presences) {
    if (!presences) return call->Answer(ToStatus(presences.error()));
    for (const protocol::Presence presence : *presences) response->add_states(ToProto(presence));
    call->Answer(grpc::Status::OK, response->ByteSizeLong());
  };
  const std::uint64_t number = waits_->Begin(*objects, count, done);
  call->WhenCancelled([waits = waits_, number] {
    waits->End(number, {ErrorCode::kCancelled, "whoever waited has gone"});
  });
  return call.get();
}

grpc::Status AdminService::CheckPlace(const std::vector<ObjectId>& objects) const {
  if (!place_.index) return grpc::Status::OK;
  for (const ObjectId& object : objects) {
    const std::size_t shard = directory::ShardOf(object, place_.shards.size());
    if (shard == *place_.index) continue;
    return {grpc::StatusCode::FAILED_PRECONDITION,
            fmt::format("object {} belongs to shard {}, {}; this is shard {} of {}", object.ToHex(),
                        shard, place_.shards[shard], *place_.index, place_.shards.size())};
  }
  return grpc::Status::OK;
}

}  // namespace hoplite::admin

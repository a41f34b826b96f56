// AdminService: the calls of proto/hoplite/admin/v1/admin.proto. Checks what programs send, asks, and
// answers; nothing blocks. Called by gRPC's threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <hoplite/object_id.h>

#include "admin/call.h"
#include "admin/questions.h"
#include "admin/waits.h"
#include "hoplite/admin/v1/admin.grpc.pb.h"

namespace hoplite::admin {

// Which of the shards this one is.
struct ShardPlace {
  std::vector<std::string> shards;
  std::optional<std::size_t> index;  // none: the list does not name it
};

class AdminService final : public v1::Admin::CallbackService {
 public:
  AdminService(ShardPlace place, std::shared_ptr<Questions> questions, std::shared_ptr<Waits> waits)
      : place_(std::move(place)), questions_(std::move(questions)), waits_(std::move(waits)) {}

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest* request,
                                   v1::StatusResponse* response) override;
  grpc::ServerUnaryReactor* Info(grpc::CallbackServerContext* context,
                                 const v1::InfoRequest* request,
                                 v1::InfoResponse* response) override;
  grpc::ServerUnaryReactor* WaitExists(grpc::CallbackServerContext* context,
                                       const v1::WaitExistsRequest* request,
                                       v1::WaitExistsResponse* response) override;

 private:
  // OK: they are all of this shard.
  grpc::Status CheckPlace(const std::vector<ObjectId>& objects) const;
  void Fill(const Picture& picture, v1::StatusResponse& response) const;

  const ShardPlace place_;
  const std::shared_ptr<Questions> questions_;
  const std::shared_ptr<Waits> waits_;
  UnreadAnswers unread_;
};

}  // namespace hoplite::admin

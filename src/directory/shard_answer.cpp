#include "directory/shard_answer.h"

#include <utility>

#include "base/units.h"
#include "hoplite/v1/directory.pb.h"
#include "wire/directory_messages.h"
#include "wire/trace.h"

namespace hoplite::directory {
namespace {

constexpr std::size_t kPieceBytes = 64_KiB;

}  // namespace

ShardAnswer ShardAnswer::Of(protocol::StatusPage page) {
  ShardAnswer answer;
  answer.page_ = std::move(page);
  return answer;
}

ShardAnswer ShardAnswer::Of(const Result<protocol::ObjectView>& found) {
  if (!found) return Of(found.error());
  ShardAnswer answer;
  v1::ShardMessage message;
  *message.mutable_info()->mutable_object() = wire::ToProto(*found);
  message.AppendToString(&answer.bytes_);
  answer.whole_ = true;
  return answer;
}

ShardAnswer ShardAnswer::Of(const std::vector<Recorded>& decisions) {
  ShardAnswer answer;
  const std::vector<std::byte> told = wire::EncodeTrace(decisions);
  v1::ShardMessage message;
  message.mutable_trace()->set_decisions(told.data(), told.size());
  message.AppendToString(&answer.bytes_);
  answer.whole_ = true;
  return answer;
}

ShardAnswer ShardAnswer::Of(const Error& why, const protocol::ShardMembers& members) {
  ShardAnswer answer;
  v1::ShardMessage message;
  *message.mutable_failure() = wire::ToProto(wire::NoAnswer{why, members});
  message.AppendToString(&answer.bytes_);
  answer.whole_ = true;
  return answer;
}

std::string ShardAnswer::Next(bool& last) {
  while (!whole_ && bytes_.size() < kPieceBytes) {
    if (nodes_ < page_.nodes.size()) {
      AddNode();
    } else if (objects_ < page_.page.objects.size()) {
      AddObject();
    } else {
      AddRest();
    }
  }
  std::string piece = std::exchange(bytes_, {});
  // One object may be longer than a frame.
  if (piece.size() > 2 * kPieceBytes) {
    bytes_ = piece.substr(kPieceBytes);
    piece.resize(kPieceBytes);
  }
  last = whole_ && bytes_.empty();
  return piece;
}

void ShardAnswer::AddNode() {
  v1::ShardMessage message;
  *message.mutable_status()->add_nodes() = wire::ToProto(page_.nodes[nodes_++]);
  message.AppendToString(&bytes_);
}

void ShardAnswer::AddObject() {
  v1::ShardMessage message;
  *message.mutable_status()->add_objects() = wire::ToProto(page_.page.objects[objects_++]);
  message.AppendToString(&bytes_);
}

void ShardAnswer::AddRest() {
  v1::ShardMessage message;
  message.mutable_status()->set_more(page_.page.more);
  if (page_.page.more && page_.page.reached) {
    message.mutable_status()->set_reached(std::string(page_.page.reached->view()));
  }
  *message.mutable_status()->mutable_shard() = wire::ToProto(page_.shard);
  message.AppendToString(&bytes_);
  whole_ = true;
}

}  // namespace hoplite::directory

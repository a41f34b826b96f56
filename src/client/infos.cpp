#include "client/infos.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/try.h"
#include "client/convert.h"
#include "client/get_many.h"
#include "client/pictures.h"
#include "wire/local_protocol.h"
#include "wire/pictures.h"

namespace hoplite::client {

local::Request InfoOf(std::span<const ObjectId> ids) {
  local::Request request;
  request.mutable_info()->set_objects(Concatenated(ids));
  return request;
}

Result<ObjectInfo> ReadInfo(const local::Infos::Got& got) {
  if (got.has_error()) return std::unexpected(ToError(got.error()));
  TRY_ASSIGN(const protocol::ObjectView view, wire::FromProto(got.info()));
  return ToObjectInfo(view);
}

bool IsLost(const Result<ObjectInfo>& info) {
  if (!info) {
    return info.error().code == ErrorCode::kNotFound || info.error().code == ErrorCode::kDeleted;
  }
  return !info->in_directory && std::ranges::none_of(info->holders, &HolderInfo::complete);
}

std::vector<Result<ObjectInfo>> AskForInfos(Connection& connection, std::span<const ObjectId> ids,
                                            Time deadline) {
  std::vector<Result<ObjectInfo>> infos;
  infos.reserve(ids.size());
  while (infos.size() < ids.size()) {
    const auto left = ids.subspan(infos.size());
    const auto part = left.first(std::min(left.size(), wire::kMaxGetMany));
    Result<local::Answer> answer = connection.Call(InfoOf(part), deadline);
    const std::size_t count = answer ? static_cast<std::size_t>(answer->infos().got_size()) : 0;
    if (answer && (count == 0 || count > part.size())) {
      answer = std::unexpected(Error(ErrorCode::kProtocol, "the node answered for other objects"));
    }
    if (!answer) {
      infos.resize(ids.size(), std::unexpected(answer.error()));
      break;
    }
    for (const auto& got : answer->infos().got()) infos.push_back(ReadInfo(got));
  }
  return infos;
}

}  // namespace hoplite::client

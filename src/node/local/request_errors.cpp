#include "node/local/request_errors.h"

#include <utility>

#include <fmt/format.h>

namespace hoplite::node {

Error InvalidRequest(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Error TooMany(const char* what, std::uint32_t limit) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("this client has {} {}, as many as its node allows", limit, what)};
}

}  // namespace hoplite::node

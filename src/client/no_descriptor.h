#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <hoplite/result.h>

namespace hoplite::client {

// This process may open no more files: EMFILE, or a descriptor that was sent to it was dropped.
inline Error NoDescriptorLeft() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {ErrorCode::kResourceExhausted,
          fmt::format("this process has no free file descriptor (limit {})", limit.rlim_cur)};
}

}  // namespace hoplite::client

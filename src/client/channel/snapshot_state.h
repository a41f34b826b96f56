// What a Snapshot shows, and the Future of one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/channel/manifest.h"
#include "client/channel/patched.h"
#include "client/channel/version_request.h"
#include "client/question.h"

namespace hoplite {

struct Snapshot::Contents {
  std::uint64_t version = 0;
  client::Manifest manifest;  // with the bytes of the parts
  std::vector<Buffer> objects;
  client::Patched patched;  // parts that lie in none of them
  std::map<std::string_view, std::size_t> by_name;
};

namespace client {

// The wait for a VersionRequest, which goes with it.
std::unique_ptr<Question> QuestionOf(const std::shared_ptr<VersionRequest>& request,
                                     const std::shared_ptr<Connection>& connection, Time deadline);

}  // namespace client
}  // namespace hoplite

#include "node/shard/link_reports.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "node/pull/flight.h"

namespace hoplite::node {
namespace {

constexpr Duration kEvery = std::chrono::milliseconds(30);

}  // namespace

net::Task<void> LinkReports::Run() {
  while (!stopping_) {
    co_await data_plane_.meter().used().Wait();
    data_plane_.meter().Take();
    bool goes_on = true;
    while (goes_on && !stopping_) {
      const Time since = Now();
      co_await stopped_.Wait(since + kEvery);
      goes_on = Tell(Now() - since);
    }
  }
}

void LinkReports::Stop() {
  stopping_ = true;
  stopped_.Notify();
  data_plane_.meter().Receives();
}

bool LinkReports::Tell(Duration within) {
  const auto sent = data_plane_.meter().Take();
  const bool several = SeveralObjects(sent);
  if (std::exchange(told_, several) || several) {
    context_.directory.Send(several ? UseOf(sent, within) : protocol::LinkUse{});
  }
  return !sent.empty() || data_plane_.gate().under_way() > 0;
}

// An object that comes and leaves again is one.
bool LinkReports::SeveralObjects(const std::map<ObjectId, std::uint64_t>& sent) const {
  const auto only_leaves = std::ranges::count_if(sent, [this](const auto& at) {
    const auto entry = context_.table.Find(at.first);
    return entry == nullptr || !entry->flight();
  });
  return data_plane_.gate().under_way() + static_cast<std::size_t>(only_leaves) > 1;
}

protocol::LinkUse LinkReports::UseOf(const std::map<ObjectId, std::uint64_t>& sent,
                                     Duration within) const {
  protocol::LinkUse use{.fetches = static_cast<std::uint32_t>(data_plane_.gate().under_way())};
  for (const auto& [object, bytes] : sent) {
    const double rate = static_cast<double>(bytes) / ToSeconds(within);
    if (bytes > 0) use.sent.push_back({object, static_cast<std::uint64_t>(rate)});
  }
  std::ranges::sort(use.sent, std::greater{}, &protocol::LinkUse::Sent::bytes_per_second);
  if (use.sent.size() > protocol::kMostSent) use.sent.resize(protocol::kMostSent);
  return use;
}

}  // namespace hoplite::node

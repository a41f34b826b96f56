#include "cli/arrival.h"

#include <chrono>
#include <utility>

#include "base/exhaustion.h"

namespace hoplite::cli {
namespace {

constexpr std::chrono::milliseconds kLook(200);
// The call that brings the object may end meanwhile, and then waits for this answer.
constexpr std::chrono::milliseconds kAnswer(500);

}  // namespace

Arrival::Arrival(Client& client, const ObjectId& id, std::uint64_t size_bytes)
    : client_(client), progress_("get", size_bytes) {
  if (!progress_.visible()) return;
  progress_.Update(0);
  auto started = StartThread([this, id] { Watch(id); });
  if (started) watching_ = *std::move(started);
}

Arrival::~Arrival() {
  over_.release();
  if (watching_.joinable()) watching_.join();
}

void Arrival::Watch(const ObjectId& id) {
  do {
    const auto info = client_.Info(id, {.timeout = kAnswer});
    if (!info) continue;
    for (const TransferInfo& transfer : info->transfers) {
      if (transfer.to == client_.node_name()) progress_.Update(transfer.valid_bytes);
    }
  } while (!over_.try_acquire_for(kLook));
}

}  // namespace hoplite::cli

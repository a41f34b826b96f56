#include "cli/demo/receiver.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/try.h"

namespace hoplite::cli::demo {
namespace {

Result<Receiver::Received> Receive(Client client, ObjectId object, Time started) {
  TRY_ASSIGN(const Buffer view, client.Get(object));
  const double seconds = ToSeconds(Now() - started);
  return Receiver::Received{seconds, HashOf(view.bytes())};
}

}  // namespace

std::string HashOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", std::uint64_t{hash.high64}, std::uint64_t{hash.low64});
}

Result<Receiver> Receiver::Start(const std::string& node, const std::string& socket,
                                 const ObjectId& object) {
  TRY_ASSIGN(Client client, Client::Connect(socket));
  return Receiver(node, std::move(client), object);
}

Receiver::Receiver(std::string node, Client client, const ObjectId& object)
    : node_(std::move(node)),
      started_(Now()),
      client_(client),
      result_(std::async(std::launch::async, Receive, std::move(client), object, started_)) {}

Receiver::~Receiver() {
  // A Get that still waits ends now, since the future's destructor waits for its thread.
  if (result_.valid()) client_->Close();
}

bool Receiver::finished() const {
  return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace hoplite::cli::demo

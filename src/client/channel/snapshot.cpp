#include <utility>

#include <hoplite/channel.h>

#include "base/try.h"
#include "client/channel/snapshot_state.h"
#include "client/client_access.h"
#include "client/empty.h"

namespace hoplite {

Snapshot::Snapshot() = default;
Snapshot::Snapshot(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

const ObjectId& Snapshot::id() const& {
  return contents_ ? contents_->objects.front().id() : client::kNoObject;
}
std::uint64_t Snapshot::version() const { return contents_ ? contents_->version : 0; }
std::span<const Part> Snapshot::parts() const& {
  return contents_ ? std::span<const Part>(contents_->manifest.parts) : std::span<const Part>();
}
const std::string& Snapshot::metadata() const& {
  return contents_ ? contents_->manifest.metadata : client::kNoText;
}
std::span<const Buffer> Snapshot::objects() const& {
  return contents_ ? std::span<const Buffer>(contents_->objects) : std::span<const Buffer>();
}

const Part* Snapshot::Find(std::string_view name) const& {
  if (!contents_) return nullptr;
  const auto at = contents_->by_name.find(name);
  return at == contents_->by_name.end() ? nullptr : &contents_->manifest.parts[at->second];
}

Result<Snapshot> ClientAccess::MakeSnapshot(std::uint64_t version, std::vector<Buffer> objects) {
  auto contents = std::make_shared<Snapshot::Contents>();
  contents->version = version;
  const std::span<const std::byte> newest = objects.front().bytes();
  TRY_ASSIGN(const std::uint64_t before, client::BytesBeforeParts(newest, newest.size()));
  TRY_ASSIGN(contents->manifest, client::Decoded(newest.first(before)));
  const auto bytes_at = [&](const client::Place& place) -> Result<std::span<const std::byte>> {
    if (place.object >= objects.size()) {
      return std::unexpected(client::NoVersion("a part lies in an object that it does not have"));
    }
    return client::BytesAt(place, objects[place.object].bytes());
  };
  client::Manifest& manifest = contents->manifest;
  for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
    const client::Lying& lying = manifest.lying[i];
    TRY_ASSIGN(manifest.parts[i].bytes, bytes_at(lying.place));
    if (!lying.patches.empty()) {
      TRY_ASSIGN(manifest.parts[i].bytes,
                 contents->patched.Make(manifest.parts[i].bytes, lying, bytes_at));
    }
    contents->by_name.emplace(manifest.parts[i].name, i);
  }
  contents->objects = std::move(objects);
  return Snapshot(std::move(contents));
}

namespace client {

std::unique_ptr<Question> QuestionOf(const std::shared_ptr<VersionRequest>& request,
                                     const std::shared_ptr<Connection>& connection, Time deadline) {
  return std::make_unique<Question>(connection, request->done(), deadline,
                                    [request](const Error& why) { request->GiveUp(why); });
}

}  // namespace client
}  // namespace hoplite

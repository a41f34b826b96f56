#include <utility>

#include "base/try.h"
#include "client/channel/stream_impl.h"
#include "client/empty.h"
#include "client/pending.h"

namespace hoplite {

SnapshotStream::SnapshotStream() = default;
SnapshotStream::SnapshotStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SnapshotStream::SnapshotStream(SnapshotStream&&) noexcept = default;
SnapshotStream& SnapshotStream::operator=(SnapshotStream&&) noexcept = default;
SnapshotStream::~SnapshotStream() = default;

std::uint64_t SnapshotStream::version() const { return impl_ ? impl_->version : 0; }
const std::string& SnapshotStream::metadata() const& {
  return impl_ ? impl_->manifest.metadata : client::kNoText;
}

Result<const Part*> SnapshotStream::Next(std::chrono::milliseconds timeout) & {
  if (!impl_) return std::unexpected(client::Empty("stream", "Channel::Stream gives one"));
  return impl_->Next(client::DeadlineAfter(timeout));
}

Result<std::unique_ptr<SnapshotStream::Impl>> SnapshotStream::Impl::Open(
    Client& client, std::shared_ptr<client::Connection> connection, const client::Head& head,
    Time deadline) {
  TRY_ASSIGN(client::Arriving newest,
             client::Arriving::Open(connection, head.objects.front(), deadline));
  const std::uint64_t least = std::min<std::uint64_t>(newest.size(), client::kPartAlignment);
  TRY_ASSIGN(const auto begin, newest.WaitFor(least, deadline));
  TRY_ASSIGN(const std::uint64_t before, client::BytesBeforeParts(begin, newest.size()));
  TRY_ASSIGN(const auto there, newest.WaitFor(before, deadline));
  TRY_ASSIGN(client::Manifest manifest, client::Decoded(there.first(before)));
  auto impl = std::make_unique<Impl>(Impl{
      .connection = std::move(connection),
      .version = head.version,
      .newest = std::move(newest),
      .before = before,
      .manifest = std::move(manifest),
  });
  for (const ObjectId& object : std::span(head.objects).subspan(1)) {
    impl->older.push_back({object, client.GetAsync(object, {.only_if_owned = true})});
  }
  return impl;
}

Result<const Part*> SnapshotStream::Impl::Next(Time deadline) {
  if (next == manifest.parts.size()) {
    TRY(newest.WaitFor(newest.size(), deadline));
    return nullptr;
  }
  const client::Lying& lying = manifest.lying[next];
  TRY_ASSIGN(manifest.parts[next].bytes, BytesOf(lying.place, deadline));
  if (!lying.patches.empty()) {
    const auto bytes_at = [&](const client::Place& place) { return BytesOf(place, deadline); };
    TRY_ASSIGN(manifest.parts[next].bytes,
               patched.Make(manifest.parts[next].bytes, lying, bytes_at));
  }
  return &manifest.parts[next++];
}

Result<std::span<const std::byte>> SnapshotStream::Impl::BytesOf(const client::Place& place,
                                                                 Time deadline) {
  if (place.object > older.size()) {
    return std::unexpected(client::NoVersion("a part lies in an object that it does not have"));
  }
  if (place.object > 0) {
    TRY_ASSIGN(const auto object, BytesOfOlder(place.object - 1, deadline));
    return client::BytesAt(place, object);
  }
  TRY(client::CheckPlace(place, newest.size() - before));
  TRY_ASSIGN(const auto there, newest.WaitFor(before + place.offset + place.size_bytes, deadline));
  return there.subspan(before + place.offset, place.size_bytes);
}

Result<std::span<const std::byte>> SnapshotStream::Impl::BytesOfOlder(std::size_t place,
                                                                      Time deadline) {
  Older& one = older[place];
  const Result<Buffer> whole = one.whole.Wait(client::Left(deadline));
  if (whole) return whole->bytes();
  if (whole.error().code != ErrorCode::kResourceExhausted) return std::unexpected(whole.error());
  if (!one.alone) {
    TRY_ASSIGN(one.alone, client::Arriving::Open(connection, one.id, deadline));
  }
  return one.alone->WaitFor(one.alone->size(), deadline);
}

}  // namespace hoplite

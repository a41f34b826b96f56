#include "node/give/gives.h"

#include <span>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include "base/checksum.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/units.h"
#include "net/connection_pool.h"
#include "net/deadline.h"
#include "node/pull/flight.h"
#include "protocol/hand_on.h"
#include "wire/give.h"

namespace hoplite::node {
namespace {

using protocol::InlineObject;

constexpr std::size_t kMostGiveBytes = 4_MiB;
constexpr std::size_t kSentAtOnce = 64_KiB;

std::vector<std::byte> InFrame(const std::string& message) {
  const auto bytes = std::as_bytes(std::span(message));
  std::vector<std::byte> frame =
      wire::Encode(wire::Give{static_cast<std::uint32_t>(bytes.size()), BlockChecksum(bytes)});
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  return frame;
}

// Frames that are sent as one.
struct OutgoingGives {
  std::vector<std::byte> frames;
  std::vector<std::shared_ptr<void>> rooms;
};

OutgoingGives TakeSome(std::deque<OutgoingGive>& queue) {
  OutgoingGives some;
  while (!queue.empty() && some.frames.size() < kSentAtOnce) {
    const std::vector<std::byte>& frame = queue.front().frame;
    some.frames.insert(some.frames.end(), frame.begin(), frame.end());
    some.rooms.push_back(std::move(queue.front().room));
    queue.pop_front();
  }
  return some;
}

}  // namespace

std::shared_ptr<Gives::Room> Gives::Reserve(std::size_t bytes) {
  auto room = std::make_shared<Room>(held_bytes_, bytes);
  return held_bytes_ <= kMostGiveBytes ? room : nullptr;
}

void Gives::HandOn(const InlineObject& given) {
  for (const protocol::HandedOn& next : protocol::HandOn(given)) {
    std::vector<std::byte> frame = InFrame(wire::EncodeGive(next.given));
    auto room = Reserve(frame.size());
    if (!room) continue;
    DataLoop& data_loop = data_plane_.LoopAt(data_plane_.IndexFor(frame.size(), Raw(next.to.id)));
    context_.runtime.Spawn(
        data_loop.loop, "a give",
        Deliver(data_loop, next.to, OutgoingGive{std::move(frame), std::move(room)}));
  }
}

void Gives::GiveCopy(const protocol::GiveCopy& word) {
  const store::CopyPtr copy = context_.store.Find(word.object);
  if (!copy || copy->version() != word.version) return;
  if (copy->state() != store::CopyState::kFinal || copy->on_disk()) return;
  if (copy->bytes().size() > kMaxInlineBytes) return;
  const auto* const bytes = reinterpret_cast<const char*>(copy->bytes().data());
  HandOn({.object = word.object,
          .version = word.version,
          .metadata = copy->metadata(),
          .bytes = std::make_shared<const std::string>(bytes, copy->bytes().size()),
          .onward = word.onward});
}

net::Task<void> Gives::Deliver(DataLoop& data_loop, protocol::NodeInfo to, OutgoingGive give) {
  const auto [place, first] = data_loop.gives.try_emplace(to.id);
  std::deque<OutgoingGive>& queue = place->second;
  queue.push_back(std::move(give));
  if (!first) co_return;  // whoever sends the first sends all
  while (!queue.empty() && co_await Send(data_loop, to, queue)) {
  }
  data_loop.gives.erase(to.id);
}

net::Task<bool> Gives::Send(DataLoop& data_loop, protocol::NodeInfo to,
                            std::deque<OutgoingGive>& waiting) {
  const auto connected = co_await data_loop.pool.Take(to.address, to.id);
  if (!connected) {
    log::Debug("a give to {}: {}", to.name, connected.error().message);
    co_return false;
  }
  const net::ConnectionPtr& connection = *connected;
  const OpenStream open(data_loop, connection->stream);
  const net::Deadline patience(data_loop.loop, Now() + context_.settings.stall,
                               [connection] { connection->stream->Close(); });
  const OutgoingGives gives = TakeSome(waiting);
  const net::Payload none;
  const auto sent = co_await connection->stream->Send(gives.frames, none);
  if (!sent) co_return false;
  context_.counters.gives_sent += gives.rooms.size();
  data_loop.pool.Return(connection);
  co_return true;
}

net::Task<bool> Gives::Receive(net::ConnectionPtr connection, wire::Give give) {
  const auto room = Reserve(give.payload_bytes);
  if (!room) co_return false;
  const net::Deadline patience(connection->stream->loop(), Now() + context_.settings.stall,
                               [connection] { connection->stream->Close(); });
  std::vector<std::byte> bytes(give.payload_bytes);
  if (!co_await connection->reader.ReceivePayload(bytes)) co_return false;
  if (BlockChecksum(bytes) != give.checksum) {
    ++context_.counters.corrupt_blocks;
    log::Warn("a give from {} is damaged: its checksum is wrong",
              connection->stream->peer_address());
    co_return false;
  }
  auto given = wire::DecodeGive(bytes);
  if (!given) {
    log::Warn("{}: {}", connection->stream->peer_address(), given.error().message);
    co_return false;
  }
  asio::post(context_.runtime.main(), [this, room, given = std::move(*given)] { Take(given); });
  co_return true;
}

void Gives::Take(const InlineObject& given) {
  HandOn(given);
  const EntryPtr entry = context_.table.Find(given.object);
  if (entry && entry->flight()) entry->flight()->OnHandedOn(given);
}

}  // namespace hoplite::node

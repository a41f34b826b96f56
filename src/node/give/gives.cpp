#include "node/give/gives.h"

#include <span>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include "base/checksum.h"
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

std::vector<std::byte> InFrame(const std::string& message) {
  const auto bytes = std::as_bytes(std::span(message));
  std::vector<std::byte> frame =
      wire::Encode(wire::Give{static_cast<std::uint32_t>(bytes.size()), BlockChecksum(bytes)});
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  return frame;
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
    DataLoop& data_loop = data_plane_.LoopAt(Raw(next.to.id) % data_plane_.loop_count());
    context_.runtime.Spawn(data_loop.loop, "a give",
                           Send(data_loop, next.to, std::move(frame), std::move(room)));
  }
}

net::Task<void> Gives::Send(DataLoop& data_loop, protocol::NodeInfo to,
                            std::vector<std::byte> message, std::shared_ptr<Room> /*room*/) {
  const auto connected = co_await data_loop.pool.Take(to.address, to.id);
  if (!connected) {
    log::Debug("a give to {}: {}", to.name, connected.error().message);
    co_return;
  }
  const net::ConnectionPtr& connection = *connected;
  const OpenStream open(data_loop, connection->stream);
  const net::Deadline patience(data_loop.loop, Now() + context_.settings.stall,
                               [connection] { connection->stream->Close(); });
  const net::Payload none;
  const auto sent = co_await connection->stream->Send(message, none);
  if (!sent) co_return;
  ++context_.counters.gives_sent;
  data_loop.pool.Return(connection);
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

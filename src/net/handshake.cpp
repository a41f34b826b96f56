#include "net/handshake.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/try.h"
#include "net/deadline.h"

namespace hoplite::net {
namespace {

Error Unexpected(const Connection& connection, wire::FrameKind wanted, const wire::Frame& got) {
  return Error(ErrorCode::kProtocol,
               fmt::format("{} sent {} instead of {}", connection.stream->peer_address(),
                           Name(KindOf(got)), Name(wanted)));
}

Task<Result<void>> ReadWelcome(ConnectionPtr connection, Identity self, NodeId expected) {
  CO_TRY_ASSIGN(const wire::Frame frame, co_await connection->reader.Next());
  const auto* welcome = std::get_if<wire::PeerWelcome>(&frame);
  if (welcome == nullptr) {
    co_return std::unexpected(Unexpected(*connection, wire::FrameKind::kWelcome, frame));
  }
  if (welcome->refusal != wire::Refusal::kNone) {
    co_return std::unexpected(Error(
        ErrorCode::kUnavailable, fmt::format("{} refused the connection: {}",
                                             connection->stream->peer_address(), welcome->text)));
  }
  if (welcome->protocol_version != wire::kProtocolVersion || welcome->cluster != self.cluster ||
      welcome->from != expected) {
    co_return std::unexpected(
        Error(ErrorCode::kProtocol, fmt::format("{} welcomed us as another node or cluster",
                                                connection->stream->peer_address())));
  }
  co_return Result<void>();
}

Task<Result<void>> SayHello(ConnectionPtr connection, Identity self, NodeId expected) {
  wire::Frame hello = wire::PeerHello(self.cluster, self.self, expected);
  CO_TRY(co_await connection->Send(std::move(hello)));
  co_return co_await ReadWelcome(std::move(connection), self, expected);
}

// Accepts, or says why not.
wire::PeerWelcome Judge(const wire::PeerHello& hello, Identity self) {
  wire::PeerWelcome welcome(self.cluster, self.self);
  if (hello.protocol_version != wire::kProtocolVersion) {
    welcome.refusal = wire::Refusal::kProtocolVersion;
    welcome.text = fmt::format("protocol version {} is not spoken here, only {}",
                               hello.protocol_version, wire::kProtocolVersion);
  } else if (hello.cluster != self.cluster) {
    welcome.refusal = wire::Refusal::kCluster;
    welcome.text = fmt::format(
        "this node belongs to cluster {:016x}, not {:016x}: both sides need the same "
        "list of directory shards and the same cluster name",
        self.cluster, hello.cluster);
  } else if (hello.expected != self.self) {
    welcome.refusal = wire::Refusal::kNotThatNode;
    welcome.text =
        fmt::format("this is node {}, not {}", ToString(self.self), ToString(hello.expected));
  }
  return welcome;
}

Task<Result<void>> HearHello(ConnectionPtr connection, Identity self) {
  CO_TRY_ASSIGN(const wire::Frame frame, co_await connection->reader.Next());
  const auto* hello = std::get_if<wire::PeerHello>(&frame);
  if (hello == nullptr) {
    co_return std::unexpected(Unexpected(*connection, wire::FrameKind::kHello, frame));
  }
  connection->peer = hello->from;
  const wire::PeerWelcome welcome = Judge(*hello, self);
  wire::Frame answer = welcome;
  CO_TRY(co_await connection->Send(std::move(answer)));
  if (welcome.refusal == wire::Refusal::kNone) co_return Result<void>();
  co_return std::unexpected(
      Error(ErrorCode::kProtocol,
            fmt::format("refused {}: {}", connection->stream->peer_address(), welcome.text)));
}

// The handshake's outcome, given that `deadline` closes the stream when it takes too long.
Result<ConnectionPtr> Conclude(ConnectionPtr connection, Result<void> outcome, bool late,
                               Duration timeout) {
  if (outcome && !late) return connection;
  connection->stream->Close();
  if (!late) return std::unexpected(std::move(outcome).error());
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("{} did not finish the handshake within {:.3g} s",
                        connection->stream->peer_address(), ToSeconds(timeout))));
}

Time After(Duration timeout) { return Now() + timeout; }

}  // namespace

Task<Result<ConnectionPtr>> Greet(StreamPtr stream, Identity self, NodeId expected,
                                  Duration timeout) {
  const auto connection = std::make_shared<Connection>(stream, expected);
  const Deadline deadline(stream->loop(), After(timeout), [stream] { stream->Close(); });
  auto outcome = co_await SayHello(connection, self, expected);
  co_return Conclude(connection, std::move(outcome), deadline.expired(), timeout);
}

Task<Result<ConnectionPtr>> Answer(StreamPtr stream, Identity self, Duration timeout) {
  const auto connection = std::make_shared<Connection>(stream, kNoNode);
  const Deadline deadline(stream->loop(), After(timeout), [stream] { stream->Close(); });
  auto outcome = co_await HearHello(connection, self);
  co_return Conclude(connection, std::move(outcome), deadline.expired(), timeout);
}

}  // namespace hoplite::net

// What a node decided lately is told at its data port, whatever its main loop does.
#include "wire/trace.h"

#include <span>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include <hoplite/config.h>

#include "base/units.h"
#include "net/handshake.h"
#include "node/core/environment.h"
#include "node/node.h"
#include "testing/raw_peer.h"
#include "testing/standstill.h"

namespace hoplite {
namespace {

using testing::RawPeer;

// Who is behind this port says so to whoever takes it for another.
net::Identity IdentityOf(const node::Node& node) {
  RawPeer stranger = RawPeer::Connect(node.address());
  stranger.Send(wire::PeerHello(0, NodeId{1}, NodeId{2}));
  const auto refusal = stranger.Next();
  const auto& welcome = std::get<wire::PeerWelcome>(refusal.value());
  return {.cluster = welcome.cluster, .self = welcome.from};
}

TEST(NodeTrace, IsToldWhileTheMainLoopHangs) {
  asio::io_context* main = nullptr;
  const NodeConfig config{.directory = {"127.0.0.1:1"}, .memory_bytes = 4_MiB};  // nobody is there
  const auto usual = node::WithDefaults(config, {}).directory;
  node::Environment environment;
  environment.directory = [&](asio::io_context& loop) {
    main = &loop;
    return usual(loop);
  };
  const auto node = node::Node::Start(config, environment);
  ASSERT_TRUE(node) << node.error().ToString();
  RawPeer peer = RawPeer::Connect((*node)->address());
  const net::Identity identity = IdentityOf(**node);
  peer.Send(wire::PeerHello(identity.cluster, NodeId{77}, identity.self));
  ASSERT_TRUE(peer.Next());

  const test::Standstill standstill(*main);
  // A connection is there for the next question, too.
  for (int i = 0; i < 2; ++i) {
    peer.Send(wire::Frame{wire::TraceAsk{}});
    const auto frame = peer.Next();
    const auto* trace = frame ? std::get_if<wire::Trace>(&*frame) : nullptr;
    EXPECT_NE(trace, nullptr);
    const auto told = trace == nullptr ? std::nullopt : peer.Receive(trace->payload_bytes);
    EXPECT_TRUE(told && wire::DecodeTrace(*told));
  }
}

}  // namespace
}  // namespace hoplite

// RawSession: a connection to a shard without any of our client: says the bytes or messages that it
// is told to, reads when it is told to. Waits have a bound.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <google/protobuf/message_lite.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "hoplite/v1/directory.pb.h"
#include "testing/directory_node.h"
#include "wire/directory_messages.h"
#include "wire/message_frames.h"

namespace hoplite::test {

class RawSession {
 public:
  explicit RawSession(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const auto target = ParseHostPort(address);
    HOPLITE_CHECK(target.has_value(), "an address");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(target->port);
    ::inet_pton(AF_INET, target->host.c_str(), &to.sin_addr);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~RawSession() { Drop(); }
  RawSession(const RawSession&) = delete;
  RawSession& operator=(const RawSession&) = delete;

  bool connected() const { return connected_; }
  void Drop() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  // False: the shard closed the connection, or takes nothing.
  bool SayBytes(std::string_view bytes) {
    while (!bytes.empty()) {
      if (!Ready(POLLOUT)) return false;
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EAGAIN) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // What finds room at this moment.
  void SayWhatFits(std::string_view bytes) {
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  static std::string Frame(const google::protobuf::MessageLite& message) {
    std::string frame;
    wire::AppendMessageFrame(message, frame);
    return frame;
  }
  bool Say(const v1::NodeMessage& message) { return SayBytes(Frame(message)); }
  static v1::NodeMessage HelloOf(int id, const std::string& name) {
    wire::Hello hello;
    hello.node = {NodeId(id), name, "127.0.0.1:" + std::to_string(id)};
    v1::NodeMessage message;
    *message.mutable_hello() = wire::ToProto(hello);
    return message;
  }
  bool SayHello(int id, const std::string& name) { return Say(HelloOf(id, name)); }
  bool SayEvent(const v1::NodeEvent& event) {
    v1::NodeMessage message;
    *message.add_events() = event;
    return Say(message);
  }

  // The next message; none: the connection ended, or nothing came in time.
  std::optional<v1::ShardMessage> Read() {
    for (;;) {
      const auto frame = frames_.Next();
      HOPLITE_CHECK(frame.has_value(), "a shard speaks in frames");
      if (*frame) {
        v1::ShardMessage message;
        HOPLITE_CHECK(message.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size())),
                      "and in messages");
        return message;
      }
      frames_.Keep();
      if (!Ready(POLLIN)) return std::nullopt;
      const ssize_t got = ::recv(socket_, heard_, sizeof heard_, 0);
      if (got <= 0) return std::nullopt;
      frames_.Received({heard_, static_cast<std::size_t>(got)});
    }
  }
  // The next message for which `has` is true; none if the connection ends first.
  template <typename Has>
  std::optional<v1::ShardMessage> ReadUntil(Has has) {
    while (auto message = Read()) {
      if (has(*message)) return message;
    }
    return std::nullopt;
  }
  bool ReadWelcome() {
    return ReadUntil([](const auto& m) { return m.has_welcome(); }).has_value();
  }
  std::optional<v1::Ended> ReadEnded() {
    const auto message = ReadUntil([](const auto& m) { return m.has_ended(); });
    if (!message) return std::nullopt;
    return message->ended();
  }
  // Whether the shard closes the connection, whatever it says before.
  bool Ends() {
    while (Ready(POLLIN)) {
      if (::recv(socket_, heard_, sizeof heard_, 0) <= 0) return true;
    }
    return false;
  }

 private:
  bool Ready(short what) const {
    pollfd one{socket_, what, 0};
    return ::poll(&one, 1, static_cast<int>(kPatience / std::chrono::milliseconds(1))) == 1;
  }

  int socket_;
  bool connected_ = false;
  char heard_[64 * 1024];
  wire::MessageFrames frames_{1_MiB};
};

}  // namespace hoplite::test

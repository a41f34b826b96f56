// A client of a node, spoken in raw bytes.
#pragma once

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "hoplite/v1/local.pb.h"
#include "wire/local_protocol.h"
#include "wire/message_frames.h"
#include "wire/passed_descriptors.h"

namespace hoplite::test {

// Reads wait, but not for ever.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : RawClient(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Takes a connected socket.
  explicit RawClient(int socket) : socket_(socket) {
    const timeval bound{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  }
  ~RawClient() { ::close(socket_); }

  void SendBytes(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Send(const v1::local::Request& request, std::span<const int> descriptors = {}) {
    std::string frame;
    wire::AppendMessageFrame(request, frame);
    iovec piece{.iov_base = frame.data(), .iov_len = frame.size()};
    msghdr head{};
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    wire::PassedDescriptors passed;
    passed.Attach(descriptors, head);
    EXPECT_EQ(::sendmsg(socket_, &head, MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  }
  void Hello(std::uint32_t version = wire::kLocalProtocolVersion, bool in_process = false) {
    v1::local::Request request;
    request.set_id(1);
    request.mutable_hello()->set_protocol_version(version);
    request.mutable_hello()->set_in_process(in_process);
    Send(request);
  }
  // None: the connection has ended.
  std::optional<v1::local::Answer> Receive() {
    for (;;) {
      if (const auto message = frames_.Next().value()) {
        v1::local::Answer answer;
        EXPECT_TRUE(answer.ParseFromArray(message->data(), static_cast<int>(message->size())));
        return answer;
      }
      frames_.Keep();
      const ssize_t got = ::recv(socket_, room_.data(), room_.size(), 0);
      if (got < 0) EXPECT_NE(errno, EAGAIN) << "neither an answer came nor the end";
      if (got <= 0) return std::nullopt;
      frames_.Received({room_.data(), static_cast<std::size_t>(got)});
    }
  }
  // The last word must name a broken protocol.
  std::string LastWord() {
    std::string said;
    while (const auto answer = Receive()) {
      if (answer->id() != 0) continue;
      EXPECT_EQ(answer->error().code(), static_cast<std::uint32_t>(ErrorCode::kProtocol));
      said = answer->error().message();
    }
    return said;
  }

 private:
  const int socket_;
  std::array<char, wire::kReadBytes> room_{};
  wire::MessageFrames frames_{wire::kMaxLocalAnswer};
};

}  // namespace hoplite::test

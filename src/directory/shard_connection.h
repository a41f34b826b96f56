// ShardConnection: the node's end of its session with one shard: connects, says Hello, and hands on
// what the shard says, until it ends. On the node's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>

#include "directory/dial.h"
#include "directory/frame_socket.h"
#include "directory/session_messages.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

class ShardConnection : public std::enable_shared_from_this<ShardConnection> {
 public:
  using Receiver = std::function<void(wire::ShardMessage)>;

  // `receive` runs later, with `ended` last, and never after Close; with nothing when another address
  // of the name is tried, and when one is connected to.
  static std::shared_ptr<ShardConnection> Open(asio::io_context& loop, const std::string& address,
                                               net::SecurityPtr security, wire::Hello hello,
                                               Receiver receive);

  // Dropped until the shard has said something.
  void Send(const wire::NodeMessage& message);
  void Close();

 private:
  ShardConnection(asio::io_context& loop, std::string address, net::SecurityPtr security,
                  wire::Hello hello, Receiver receive)
      : loop_(loop),
        address_(std::move(address)),
        security_(std::move(security)),
        hello_(std::move(hello)),
        receive_(std::move(receive)) {}
  void OnConnected(Result<net::TcpSocket> outcome);
  void Hear(std::string_view frame);
  void End(const std::string& why);
  void End(wire::Ended why);

  asio::io_context& loop_;
  const std::string address_;
  const net::SecurityPtr security_;
  const wire::Hello hello_;
  const Receiver receive_;
  std::shared_ptr<Dial> dial_;
  std::shared_ptr<FrameSocket> socket_;
  MessageReader<v1::ShardMessage> reader_{kMaxMessageBytes};
  bool closed_ = false;
};

}  // namespace hoplite::directory

// TcpSession: the shard's end of one node's session, on a FrameSocket.
//
// Reads what the node says and hands it to the service, once per message; sends at once what the
// service says. Must never have more than a few messages wait for the service: a node that says more
// is read more slowly. All of it happens on the service's loop.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "directory/directory_service.h"
#include "directory/frame_socket.h"
#include "directory/session.h"
#include "directory/session_messages.h"

namespace hoplite::directory {

class TcpSession final : public Session, public std::enable_shared_from_this<TcpSession> {
 public:
  // `first` is the message with the Hello. The socket's hooks keep the session until it is closed.
  static void Start(std::shared_ptr<DirectoryService> service, std::shared_ptr<FrameSocket> socket,
                    v1::NodeMessage& first);

  void Send(wire::ShardMessage message) override;
  void Processed() override;
  void End(wire::Ended why) override;
  void Abort() override;

 private:
  TcpSession(std::shared_ptr<DirectoryService> service, std::shared_ptr<FrameSocket> socket)
      : service_(std::move(service)), socket_(std::move(socket)) {}
  void Hear(std::string_view frame);
  void Take(v1::NodeMessage& message);
  void Fail(Error why);

  const std::shared_ptr<DirectoryService> service_;
  const std::shared_ptr<FrameSocket> socket_;
  MessageReader<v1::NodeMessage> reader_{kMaxMessageBytes};
  std::size_t unprocessed_ = 0;  // messages that the service has not taken in
  bool failed_ = false;
};

}  // namespace hoplite::directory

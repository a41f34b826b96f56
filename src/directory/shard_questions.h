// ShardQuestions: the shard's end of a connection for questions. It answers one after the other, each
// in parts, and reads on when an answer has left: so a slow reader makes nothing wait here but its
// own answer. Must never wait for a reader that takes nothing. On the service's loop.
#pragma once

#include <memory>
#include <string_view>

#include <asio/io_context.hpp>

#include "base/time.h"
#include "directory/directory_service.h"
#include "directory/frame_socket.h"
#include "directory/session_messages.h"
#include "directory/shard_answer.h"
#include "net/timer.h"

namespace hoplite::directory {

class ShardQuestions : public std::enable_shared_from_this<ShardQuestions> {
 public:
  // `first` is a question. The socket's hooks keep this until it is closed.
  static void Start(asio::io_context& loop, std::shared_ptr<DirectoryService> service,
                    std::shared_ptr<FrameSocket> socket, const v1::NodeMessage& first);

 private:
  ShardQuestions(asio::io_context& loop, std::shared_ptr<DirectoryService> service,
                 std::shared_ptr<FrameSocket> socket)
      : loop_(loop), service_(std::move(service)), socket_(std::move(socket)), patience_(loop) {}
  void Hear(std::string_view frame);
  void Take(const v1::NodeMessage& question);
  void Answer(ShardAnswer answer);
  void SendSome();
  void Refuse(Error why);
  void CloseAfter(Duration patience);

  asio::io_context& loop_;
  const std::shared_ptr<DirectoryService> service_;
  const std::shared_ptr<FrameSocket> socket_;
  MessageReader<v1::NodeMessage> reader_{kMaxFrameBytes};
  ShardAnswer answer_;  // while `answers_`
  bool answers_ = false;
  net::Timer patience_;
};

}  // namespace hoplite::directory

// QuestionLine: questions to one shard, over a connection of their own, so that no picture of
// megabytes stands before a heartbeat. The shard answers one after the other; the connection stays
// for a while after the last.
//
// An answer that does not come in time ends its question. The connection is given up with it, since
// nobody knows whether it still lives, and questions behind it are asked again on another.
//
// Of a shard with several members the holder is asked, which MemberOrder finds. All questions end when
// a round has found none, unless a member was silent: it may be slow. On the loop.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/shard_list.h"
#include "base/time.h"
#include "directory/dial.h"
#include "directory/frame_socket.h"
#include "directory/member_order.h"
#include "directory/session_messages.h"
#include "net/timer.h"

namespace hoplite::directory {

class QuestionLine : public std::enable_shared_from_this<QuestionLine> {
 public:
  using Done = std::function<void(Result<v1::ShardMessage*>)>;

  // `address` is that of a shard: of all its members, with slashes between.
  QuestionLine(asio::io_context& loop, std::string address, net::SecurityPtr security)
      : loop_(loop),
        address_(std::move(address)),
        security_(std::move(security)),
        order_(MembersOf(address_)),
        silence_(loop),
        idle_(loop) {}

  // `done` runs once, later, unless Stop comes first.
  void Ask(v1::NodeMessage question, Duration timeout, Done done);
  void Stop();

 private:
  struct Question {
    explicit Question(asio::io_context& loop) : timer(loop) {}
    v1::NodeMessage message;
    Done done;
    net::Timer timer;
    bool sent = false;
  };
  using QuestionPtr = std::shared_ptr<Question>;

  void Connect();
  void OnConnected(Result<net::TcpSocket> outcome);
  void SendUnsent();
  void Hear(std::string_view frame);
  void Answer(v1::ShardMessage& message);
  void OnTimeout(const QuestionPtr& question);
  void WatchSilence();
  void After(Duration delay, void (QuestionLine::*step)());
  void OnSilence();
  void TryNext(const std::string& why, const protocol::ShardMembers& members = {});
  void FailAll(const std::string& why);
  std::string WhyAway(std::string_view why) const;
  void Disconnect();
  void RestIfIdle();

  asio::io_context& loop_;
  const std::string address_;
  const net::SecurityPtr security_;
  MemberOrder order_;
  net::Timer silence_;            // of the member that is asked; or the pause between rounds
  std::deque<QuestionPtr> open_;  // in the order in which they are answered
  std::shared_ptr<Dial> dial_;    // while it connects
  std::shared_ptr<FrameSocket> socket_;
  std::shared_ptr<MessageReader<v1::ShardMessage>> reader_;
  net::Timer idle_;
  bool stopped_ = false;
};

}  // namespace hoplite::directory

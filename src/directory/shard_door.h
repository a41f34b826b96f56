// ShardDoor: a shard's listening port, and who came in but has not said yet what for.
//
// The first message, within a lease from the accept, the handshake of TLS included, begins a session
// or questions (R81). Who says something else,
// too much, or nothing is closed, with words in the log. No error of one accept ends the door: where
// descriptors have run out it waits a little and goes on. Must never let a flood of strangers hold
// the loop or much memory: it accepts some at a time, and of more than 1024 that have not said what
// for (with TLS each costs up to 47 KiB, and what it says) the oldest leaves. On the service's loop, but for Open.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/time.h"
#include "directory/directory_service.h"
#include "directory/frame_socket.h"
#include "directory/strangers.h"
#include "net/tcp_listener.h"
#include "net/timer.h"

namespace hoplite::directory {

class ShardDoor : public std::enable_shared_from_this<ShardDoor> {
 public:
  // Bound and listening: who connects waits for Start.
  static Result<std::shared_ptr<ShardDoor>> Open(asio::io_context& loop, const std::string& listen,
                                                 net::SecurityPtr security);

  // Says hello within `lease`, or is sent away.
  void Start(std::shared_ptr<DirectoryService> service, Duration lease);
  // Takes no more, and closes what is no session; sessions that the service has ended deliver their
  // last words. `done` runs when nothing is open any more.
  void Stop(std::function<void()> done);
  // Closes what is still open. The loop runs no more.
  void CloseAll();
  const std::string& address() const { return address_; }  // HOST:PORT really bound

 private:
  class Newcomer;

  ShardDoor(asio::io_context& loop, net::SecurityPtr security);
  Result<void> Bind(const std::string& listen);
  void Wait();
  void AcceptWaiting();
  void Pause();
  void Admit(net::TcpSocket socket);
  void Close(const std::function<bool(const FrameSocket&)>& which);
  void Left(FrameSocket* socket);

  asio::io_context& loop_;
  const net::SecurityPtr security_;
  net::TcpAcceptor acceptor_;
  net::Timer pause_;
  std::string address_;
  std::shared_ptr<DirectoryService> service_;
  Duration lease_{0};
  Strangers strangers_;
  bool failing_ = false;                                        // the log says so
  std::map<std::uint64_t, std::weak_ptr<Newcomer>> newcomers_;  // by their number, the oldest first
  std::uint64_t came_ = 0;
  std::set<FrameSocket*> open_;
  std::function<void()> when_empty_;
};

}  // namespace hoplite::directory

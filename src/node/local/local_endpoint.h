// LocalEndpoint: where clients of this node come in: worker processes through a Unix socket, the
// node's own process through socketpairs. Both speak the local protocol, so there is one code path
// and one set of tests.
//
// A client for which there is no descriptor is told so, with one that is kept for that; connections
// to peers that rest are given up for it before.
//
// A socket whose file was removed is made again. Must never: take over the socket of a node that is
// alive. On the node's loop only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <sys/stat.h>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "node/core/operations.h"
#include "node/local/local_clients.h"
#include "node/local/local_session.h"
#include "node/local/socket_lock.h"

namespace hoplite::node {

class LocalEndpoint {
 public:
  // The operations must outlive the loop's run.
  explicit LocalEndpoint(Operations& operations, ClientLimits limits = {});
  ~LocalEndpoint();  // stops
  LocalEndpoint(const LocalEndpoint&) = delete;
  LocalEndpoint& operator=(const LocalEndpoint&) = delete;

  // For the node's user only (mode 0600), or for the members of the group, too (0660). A socket left
  // by a dead node is replaced.
  //   invalid_argument  the path is longer than a socket's may be; there is no such group, or this
  //                     process may not give it a file
  //   unavailable       a living node listens there, or starts to; something else lies there; the
  //                     folder can't be written to
  Result<void> Listen(const std::string& path, const std::string& group = {});
  // One end of a socketpair, whose other end belongs to a client in this process. Takes it.
  Result<void> AddSession(int socket);
  // For how long no client has been attached, be it one that says nothing yet.
  Duration idle() const { return clients_->idle(); }
  const LocalClients& clients() const { return *clients_; }
  // Who keeps memory; empty: nobody.
  std::string KeptInWords() const { return clients_->KeptInWords(); }
  // Closes all connections, drops all pins, removes the socket. What the sessions had asked for is
  // cancelled and ends on the loop soon after.
  void Stop();

 private:
  void Accept();
  void OnAcceptFailed(const asio::error_code& error);
  void Admit(FileDescriptor socket, bool again);
  void TurnAwayAll();
  void KeepSpare();
  void LimitStrangers(const std::shared_ptr<LocalSession>& newest);
  // Takes the socket, if it succeeds.
  Result<void> Adopt(FileDescriptor& socket, LocalSession::Kind kind);
  // Whether the file is still this node's socket, every now and then.
  void LookLater();
  void Look();
  void MakeAgain();
  bool IsOwnSocket() const;
  void RemoveSocket();
  Result<void> Open(const std::string& path, std::optional<gid_t> group);

  Operations& operations_;
  const std::shared_ptr<LocalClients> clients_;
  asio::local::stream_protocol::acceptor acceptor_;
  asio::steady_timer retry_;
  asio::steady_timer look_;
  // Handlers may be queued when Stop runs; without this they do nothing.
  std::shared_ptr<void> listening_;
  std::string path_;                // absolute, if that is no longer than a socket's may be
  std::optional<gid_t> group_;      // who may use it beside the node's user
  bool missing_ = false;            // the log says that the file is not this node's
  std::optional<SocketLock> lock_;  // of path_
  struct stat bound_{};             // what path_ was when it was made
  std::unordered_set<std::shared_ptr<LocalSession>> sessions_;
  std::deque<std::weak_ptr<LocalSession>> strangers_;  // without Hello; the oldest first
  bool failing_ = false;                               // accepting fails, and the log says so
  FileDescriptor spare_;                               // given up to turn a client away in words
};

}  // namespace hoplite::node

// LocalChannel: the node's end of one local connection, as messages instead of bytes.
//
// Is told: answers to send. Tells: requests as they arrive, and once that the connection ended. A
// client that does not read its answers is cut off before they fill the memory. Must never: block,
// or call back from inside Send. On the node's loop only.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "hoplite/v1/local.pb.h"
#include "wire/local_protocol.h"
#include "wire/message_frames.h"

namespace hoplite::node {

namespace local = ::hoplite::v1::local;

class LocalChannel : public std::enable_shared_from_this<LocalChannel> {
 public:
  struct Hooks {
    std::function<void(local::Request)> on_request;
    std::function<void(const Error&)> on_end;
  };

  // Takes the descriptor of a connected Unix stream socket, if it succeeds.
  static Result<std::shared_ptr<LocalChannel>> Adopt(asio::io_context& loop, int socket);
  // Tells a client that gets no channel why.
  static void Refuse(int socket, const Error& why);
  LocalChannel(asio::io_context& loop, asio::local::stream_protocol::socket socket);

  void Start(Hooks hooks);
  // The next of those that came from the client, each with its message at the latest. Of -1: this
  // process could not take it, or none came.
  FileDescriptor TakeDescriptor();
  // The descriptor stays the caller's; the client gets a duplicate not later than this answer.
  void Send(const local::Answer& answer, int descriptor = -1);
  // Ends the connection from this side; a protocol error is told to the client. on_end runs.
  void Fail(Error why);
  // What has come by now is handled, as far as that is bounded, and then the connection ends, as by
  // Fail: of a client that is gone the last requests say what it still wanted.
  void FailAfterReading(Error why);
  // No hook runs any more. What was sent before still arrives if the socket had room for it.
  void Close();

 private:
  void WaitToRead();
  Result<bool> ReadSome();  // false: nothing more for now
  Result<void> HandleMessages();
  void Flush();
  void WaitToWrite();
  Result<bool> WriteSome();  // false: the socket is full
  void FailSoon(Error why);  // by then the caller has returned

  asio::io_context& loop_;
  asio::local::stream_protocol::socket socket_;
  Hooks hooks_;
  wire::MessageFrames frames_{wire::kMaxLocalRequest};
  std::deque<FileDescriptor> descriptors_;  // that came, and no message was about yet
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
  std::vector<int> unsent_descriptors_;
  bool waiting_to_write_ = false;
  bool unwritable_ = false;  // nothing is sent any more; what has come is still read
  bool closed_ = false;
};

}  // namespace hoplite::node

// FrameSocket: a connected TCP socket that carries messages, each behind its length (R81), plain or by
// TLS. Both ends of a session, and of a connection for questions, are one.
//
// With TLS nothing is sent or given to a hook before the peer is known; a handshake that fails is
// noise. The connection ends when the certificate of the peer does.
//
// Reads at most 8 x 64 KiB before others on the loop have their turn; nothing blocks. A frame that
// is sent goes to the kernel at once. What the kernel has no room for waits here, up to a bound; a
// peer that makes more wait ends the connection. Must never run a hook after Close, within Send, or
// destroy what runs: a hook may close the socket. On the loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <google/protobuf/message_lite.h>

#include <hoplite/result.h>

#include "base/units.h"
#include "net/security.h"
#include "net/tcp_stream.h"
#include "net/timer.h"
#include "net/tls_socket.h"
#include "wire/message_frames.h"

namespace hoplite::directory {

// Longer messages go in parts (session_messages.h).
inline constexpr std::size_t kMaxFrameBytes = 1_MiB;

class FrameSocket : public std::enable_shared_from_this<FrameSocket> {
 public:
  struct Hooks {
    std::function<void(std::string_view frame)> on_frame;
    // What arrives is no frame: nothing more is heard. The socket can still send.
    std::function<void(Error why)> on_noise;
    // Once, unless Close was called: the peer closed, the network failed, or too much waits.
    std::function<void(Error why)> on_end;
    // What had to wait for room has left. May be null.
    std::function<void()> on_room;
  };

  // `security`: null for plain bytes. Of a socket that was accepted from a node, or connected to a
  // directory.
  enum class Side { kAccepts, kConnects };
  FrameSocket(asio::io_context& loop, net::TcpSocket socket, std::size_t max_frame_bytes,
              net::Security* security, Side side);

  void Start(Hooks hooks);
  // From the next frame on, also within a hook.
  void SetHooks(Hooks hooks);
  void SetMaxFrame(std::size_t bytes) { frames_.SetMost(bytes); }
  // For who keeps a list of sockets: the socket was closed, whoever did it.
  void OnClosed(std::function<void()> closed) { on_closed_ = std::move(closed); }

  void Send(const google::protobuf::MessageLite& message);
  // Drops the frames of which nothing has left.
  void DropWaiting();
  std::size_t unsent() const { return unsent_.size() - sent_; }

  // While paused, no frame is given to on_frame.
  void Pause() { paused_ = true; }
  void Resume();
  // Sends what waits, hears nothing more, and closes when the peer has closed, or after a second. A
  // socket that closes with unread bytes resets the connection, and the peer loses the last words.
  void Finish();
  bool finishing() const { return finishing_; }
  void Close();
  bool closed() const { return closed_; }

  const std::string& peer() const { return peer_; }
  // The first bytes of what was no frame.
  std::string_view begun() const { return frames_.begun(); }

 private:
  bool Shake();
  void EndWithCertificate();
  ssize_t Receive(std::span<char> room);
  ssize_t SendSome(std::string_view bytes);
  void WaitToRead();
  void ReadSoon();
  void Read();
  bool TakeFrames();
  void Flush();
  void WaitToWrite();
  void Compact();
  std::size_t NextFrame() const;
  void Fail(std::string why);
  std::string Reason(int error) const;
  void End(const std::string& why);

  asio::io_context& loop_;
  net::TcpSocket socket_;
  std::unique_ptr<net::TlsSocket> tls_;  // null: plain, or refused_
  const std::string peer_;
  std::shared_ptr<const Hooks> hooks_;  // whoever runs one holds them
  std::function<void()> on_closed_;
  wire::MessageFrames frames_;
  std::string unsent_;     // whole frames
  std::size_t sent_ = 0;   // bytes of these that have left
  std::size_t begun_ = 0;  // where the frame begins that has left in part, or the next
  net::Timer last_words_;
  net::Timer certificate_;
  bool reads_ = false;   // a call of Read is due
  bool writes_ = false;  // waits for room in the kernel
  bool paused_ = false;
  bool deaf_ = false;     // what arrived was no frame
  bool refused_ = false;  // the handshake failed: nothing is sent any more
  bool failed_ = false;   // nothing can be sent; on_end is due
  bool finishing_ = false;
  bool closed_ = false;
};

}  // namespace hoplite::directory

// TlsSocket: TLS 1.3 over a connected, non-blocking socket: what a TcpStream and a session of the
// directory call instead of the kernel when their members recognize each other.
//
// Decides how bytes are cut into records: 16 KiB each, small heads together with what follows. Reads
// 20 KiB a call and sends up to four records a call; what the kernel has no room for waits here. It
// is told whom to expect. Must never take a peer that has not proved what the context asks for, the
// secret or a certificate, whatever the library's settings let pass. Must never block, wait, raise
// SIGPIPE, own the socket, send anything that was not asked for once the handshake is over, or take
// more than 64 KiB from a peer that has not proved who it is. An end without the peer's last word
// (close_notify) is an error: an attacker may have made it. Nobody calls it once the socket is closed:
// another may have its number. On one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

#include <hoplite/result.h>

#include "net/stream.h"
#include "net/tls_role.h"

struct ssl_st;

namespace hoplite::net {

struct TlsContext;

class TlsSocket {
 public:
  enum class Side { kConnects, kAccepts };

  TlsSocket(std::shared_ptr<const TlsContext> context, int socket, Side side, TlsRole peer);
  ~TlsSocket();
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;

  // Goes on with the handshake. True: it is over, this side knows the peer; false: more must arrive.
  //   unavailable  it failed: why, without the peer's address
  Result<bool> Shake();
  bool established() const { return established_; }
  // The handshake failed, and the peer was told why.
  bool refused() const {
    return broken_ && !established_ && !why_.empty() && error_ == 0 && !ended_;
  }

  // As SendOnce: how many bytes were taken, some of which may wait here (Flush); -1 with
  // errno: EAGAIN, or EPROTO with why() in words. After the handshake only.
  ssize_t Send(std::span<const std::byte> head, const Payload& payload, std::size_t done,
               std::size_t most);
  // Sends what waits. True: nothing waits any more; false with errno as Send.
  bool Flush();
  // As ReceiveOnce: 0 after the peer's last word. After the handshake only.
  ssize_t Receive(std::span<std::byte> into);
  // What arrived earlier waits here to be received: the socket need not become readable for it.
  bool unread() const;
  // Tells the peer that nothing more comes, if there is room for it.
  void SayGoodbye();
  // Says nothing any more.
  void Forget() { broken_ = true; }

  const std::string& why() const { return why_; }
  // When the peer's certificate ends, on the system's clock; none: it has none.
  std::optional<Duration> peer_expires_in() const;
  bool Expired() const;

  // For the callbacks of the library.
  static TlsSocket& Of(const ssl_st* ssl);
  const TlsContext& context() const { return *context_; }
  TlsRole peer_role() const { return peer_; }
  void Reject(std::string why) { why_ = std::move(why); }

 private:
  friend struct TlsBio;
  bool PeerIsProved() const;
  void TellThatThisIsTls() const;
  ssize_t Broken();
  std::string Reason() const;

  const std::shared_ptr<const TlsContext> context_;
  const int socket_;
  const TlsRole peer_;
  ssl_st* ssl_;
  bool established_ = false;
  bool broken_ = false;
  std::string why_;

  // What TlsBio knows of the socket.
  std::string staged_;        // records that were not sent yet
  bool full_ = false;         // the kernel had no room for all of them
  std::size_t received_ = 0;  // bytes, until the handshake is over
  bool more_follows_ = false;
  bool drained_ = false;  // the last read took all that there was
  bool ended_ = false;    // the peer closed its end
  int error_ = 0;         // of the socket
};

}  // namespace hoplite::net

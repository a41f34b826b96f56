// TlsBio: how the TLS library reaches the socket of a TlsSocket. Its own for sockets raises SIGPIPE.
#pragma once

#include <openssl/bio.h>

#include "net/tls_socket.h"

namespace hoplite::net {

struct TlsBio {
  static BIO* Make(TlsSocket& socket);
  // Sends what waits; false: something still does, or the socket has failed.
  static bool Flush(TlsSocket& socket);

  static int Write(BIO* bio, const char* bytes, int count);
  static int Read(BIO* bio, char* bytes, int count);
  static long Control(BIO* bio, int command, long number, void* pointer);
};

}  // namespace hoplite::net

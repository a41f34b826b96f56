// Security: how this process proves to other members who it is, and checks who they are, as its
// configuration says: certificates, or a secret. Makes the TLS of each new connection.
//
// Decides when the files are read again: a connection that is made notices that a file has changed,
// at most once a second. Files that do not fit together, because a replacement is half done, are not
// taken: the log says so once, and the old ones serve on. Must never change a connection that exists.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "base/mutex.h"
#include "base/time.h"
#include "net/tls_role.h"

namespace hoplite::net {

struct TlsContext;
class TlsSocket;

class Security {
 public:
  // Null if `config` names no files: connections are plain then. `cluster`: what the certificate must
  // name; none: whatever it names.
  //   invalid_argument  a file can't be read, is no such file, has expired, is of another role or
  //                     cluster, or does not fit the others: names it
  static Result<std::shared_ptr<Security>> Load(const SecurityConfig& config, TlsRole self,
                                                std::optional<std::string> cluster);

  // Of a socket that was connected to a member of that role, or accepted from a node. The socket must
  // outlive the result.
  std::unique_ptr<TlsSocket> Connect(int socket, TlsRole peer);
  std::unique_ptr<TlsSocket> Accept(int socket);

 private:
  // When a file was changed last, and what it is; equal: the same content.
  using Stamps = std::vector<std::string>;

  Security(SecurityConfig config, TlsRole self, std::optional<std::string> cluster);
  Result<std::shared_ptr<const TlsContext>> Read() const;
  Stamps StampsNow() const;
  std::shared_ptr<const TlsContext> Newest();

  const SecurityConfig config_;
  const TlsRole self_;
  const std::optional<std::string> cluster_;
  Mutex mutex_;
  std::shared_ptr<const TlsContext> context_ HOPLITE_GUARDED_BY(mutex_);
  Stamps stamps_ HOPLITE_GUARDED_BY(mutex_);           // of what context_ was read from
  std::string complained_ HOPLITE_GUARDED_BY(mutex_);  // what the log said last; empty: all is well
  Time look_again_ HOPLITE_GUARDED_BY(mutex_){};
};

using SecurityPtr = std::shared_ptr<Security>;

}  // namespace hoplite::net

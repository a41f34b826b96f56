// TlsAuthority: who signs the certificates of a cluster's members (`hoplite certs`). Keys are of the
// curve P-256.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <hoplite/result.h>

#include "net/tls_role.h"

namespace hoplite::net {

// Both in PEM.
struct TlsPair {
  std::string certificate;
  std::string key;
};

// Seconds from now, negative in the past.
struct TlsValidity {
  std::chrono::seconds begins = -std::chrono::hours(1);  // clocks of hosts differ
  std::chrono::seconds ends{};
};

class TlsAuthority {
 public:
  // A new one.
  static TlsAuthority Make(TlsValidity validity);
  // The one that Make made earlier.
  //   invalid_argument  these are not a certificate and its key
  static Result<TlsAuthority> Read(const TlsPair& pair);
  ~TlsAuthority();
  TlsAuthority(TlsAuthority&&) noexcept;
  TlsAuthority& operator=(TlsAuthority&&) = delete;

  TlsPair pair() const;
  // For a member of that role in the cluster of that name, with a key of its own. That of a directory
  // has the host name directory.hoplite besides.
  TlsPair Issue(const std::string& cluster, TlsRole role, TlsValidity validity) const;

 private:
  struct State;
  explicit TlsAuthority(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hoplite::net

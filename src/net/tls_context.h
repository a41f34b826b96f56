// TlsContext: what all connections share that began with the same files: the library's settings, and
// the secret or the cluster that the certificate names. Never changes.
//
// TLS 1.3 only, mutual, X25519. No session tickets: what a server sends after the handshake would make
// an idle stream look as if it had something to read (Stream::quiet).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <openssl/ssl.h>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "net/tls_files.h"
#include "net/tls_role.h"

namespace hoplite::net {

// Frees what the library allocates.
struct SslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* check) const { X509_STORE_CTX_free(check); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <typename T>
using SslPtr = std::unique_ptr<T, SslDeleter>;

// Whose sessions these are. Who wants to see certificates, as all contexts do, uses the key of a secret
// only in a session that says the same.
inline constexpr std::array<unsigned char, 7> kTlsSessions{'h', 'o', 'p', 'l', 'i', 't', 'e'};

using TlsSecret = std::array<unsigned char, 32>;

struct TlsContext {
  SslPtr<SSL_CTX> ssl;
  std::string cluster;              // of certificates
  std::optional<TlsSecret> secret;  // instead of certificates
};
using TlsContextPtr = std::shared_ptr<const TlsContext>;

// The settings that certificates and secrets have in common. No certificate is taken until a callback
// is set that checks it.
SslPtr<SSL_CTX> NewContext();

// See Security::Load.
Result<TlsContextPtr> ReadCertificates(const SecurityConfig& config, TlsRole self,
                                       const std::optional<std::string>& cluster);
Result<TlsContextPtr> ReadSecret(const std::string& path, Others others = Others::kNothing);
// What the certificate of a member says of it: the URI hoplite://CLUSTER/ROLE among its alternative
// names, where bytes of the cluster's name that a URI can't have are written as %XX.
std::string UriOf(const std::string& cluster, TlsRole role);
// The first such URI of a certificate; empty: it has none.
std::string UriIn(X509* certificate);

// For the library to read that text from; the text must outlive it.
SslPtr<BIO> Reading(const std::string& text);
// The private key in that PEM text; null: there is none without a passphrase.
SslPtr<EVP_PKEY> PrivateKeyIn(const std::string& text);

// What the library says about the last failure on this thread, or `otherwise`.
std::string TlsFailure(const std::string& otherwise);

}  // namespace hoplite::net

#include "net/tls_context.h"

#include <array>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/check.h"
#include "base/units.h"
#include "net/tls_socket.h"

namespace hoplite::net {
namespace {

// More than one record, so that one read takes the end of one and all of the next.
constexpr std::size_t kReadBytes = 20_KiB;
// Of the peer's certificate with those between it and the authority.
constexpr long kMostCertificateBytes = 16 * 1024;
// By the protocol's extension ALPN: clients of gRPC want to be told that this is HTTP/2. Members ask
// for nothing.
constexpr std::array<unsigned char, 3> kHttp2{2, 'h', '2'};

int ChooseProtocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* bytes,
                   const unsigned char* offered, unsigned int offered_bytes, void* /*unused*/) {
  unsigned char* found = nullptr;
  const int outcome =
      SSL_select_next_proto(&found, bytes, kHttp2.data(), kHttp2.size(), offered, offered_bytes);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// The library itself takes every certificate of a server unless it is told otherwise.
int RefuseCertificate(X509_STORE_CTX* check, void* /*unused*/) {
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsSocket::Of(ssl).Reject(
      "whoever answers there does not know the secret: it shows a certificate instead");
  X509_STORE_CTX_set_error(check, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

}  // namespace

SslPtr<SSL_CTX> NewContext() {
  SslPtr<SSL_CTX> context(SSL_CTX_new(TLS_method()));
  HOPLITE_CHECK(context != nullptr, "the TLS library starts");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set1_groups_list(context.get(), "X25519");
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), RefuseCertificate, nullptr);
  SSL_CTX_set_session_id_context(context.get(), kTlsSessions.data(), kTlsSessions.size());
  SSL_CTX_set_max_cert_list(context.get(), kMostCertificateBytes);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadBytes);
  // An idle connection keeps no buffers.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  return context;
}

SslPtr<BIO> Reading(const std::string& text) {
  SslPtr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  HOPLITE_CHECK(bio != nullptr, "there is memory for a certificate");
  return bio;
}

SslPtr<EVP_PKEY> PrivateKeyIn(const std::string& text) {
  const auto nobody_to_ask = [](char*, int, int, void*) { return -1; };
  SslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Reading(text).get(), nullptr, nobody_to_ask, nullptr));
  ERR_clear_error();
  return key;
}

std::string TlsFailure(const std::string& otherwise) {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return reason == nullptr ? otherwise : reason;
}

}  // namespace hoplite::net

// TLS from a secret: the external pre-shared key of TLS 1.3 (RFC 8446, 4.2.11) is made of the file's
// bytes by HKDF. Both sides prove that they know it within the handshake; the library compares proofs
// in constant time. An ephemeral X25519 key goes in besides: who learns the secret later can't read
// what was recorded before.
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "base/check.h"
#include "base/try.h"
#include "net/tls_context.h"
#include "net/tls_files.h"
#include "net/tls_socket.h"

namespace hoplite::net {
namespace {

constexpr std::size_t kLeastSecretBytes = 16;
constexpr std::string_view kSalt = "hoplite";
constexpr std::string_view kPurpose = "hoplite tls 1.3 external psk";
// There is one key, so its name says nothing.
constexpr std::string_view kIdentity = "hoplite";
// TLS_AES_128_GCM_SHA256, whose hash the key belongs to.
constexpr std::array<unsigned char, 2> kCipher{0x13, 0x01};

const unsigned char* Unsigned(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

TlsSecret Derive(std::string_view secret) {
  TlsSecret key{};
  std::size_t bytes = key.size();
  EVP_PKEY_CTX* hkdf = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr);
  const bool derived =
      hkdf != nullptr && EVP_PKEY_derive_init(hkdf) > 0 &&
      EVP_PKEY_CTX_set_hkdf_md(hkdf, EVP_sha256()) > 0 &&
      EVP_PKEY_CTX_set1_hkdf_salt(hkdf, Unsigned(kSalt), static_cast<int>(kSalt.size())) > 0 &&
      EVP_PKEY_CTX_set1_hkdf_key(hkdf, Unsigned(secret), static_cast<int>(secret.size())) > 0 &&
      EVP_PKEY_CTX_add1_hkdf_info(hkdf, Unsigned(kPurpose), static_cast<int>(kPurpose.size())) >
          0 &&
      EVP_PKEY_derive(hkdf, key.data(), &bytes) > 0;
  EVP_PKEY_CTX_free(hkdf);
  HOPLITE_CHECK(derived, "HKDF-SHA-256 works");
  return key;
}

// Null: there is no memory for it.
SSL_SESSION* SessionOf(SSL* ssl) {
  const TlsSecret& key = *TlsSocket::Of(ssl).context().secret;
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipher.data());
  if (session == nullptr || cipher == nullptr ||
      SSL_SESSION_set1_master_key(session, key.data(), key.size()) != 1 ||
      SSL_SESSION_set1_id_context(session, kTlsSessions.data(), kTlsSessions.size()) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

int OnConnecting(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** identity,
                 std::size_t* identity_bytes, SSL_SESSION** session) {
  *identity = Unsigned(kIdentity);
  *identity_bytes = kIdentity.size();
  *session = SessionOf(ssl);
  return *session == nullptr ? 0 : 1;
}

int OnAccepting(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes,
                SSL_SESSION** session) {
  const std::string_view said(reinterpret_cast<const char*>(identity), identity_bytes);
  *session = said == kIdentity ? SessionOf(ssl) : nullptr;  // null: go on without, and so fail
  return 1;
}

}  // namespace

Result<TlsContextPtr> ReadSecret(const std::string& path, Others others) {
  TRY_ASSIGN(std::string secret, ReadSmallFile(path, "secret file", others));
  // Who writes it with an editor, and who with printf, means the same.
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < kLeastSecretBytes) {
    return std::unexpected(Error(
        ErrorCode::kInvalidArgument,
        fmt::format("secret file {}: {}; make one with: openssl rand -hex -out {} 32", path,
                    secret.empty() ? "is empty"
                                   : fmt::format("has {} bytes, which can be guessed: at least {} "
                                                 "are needed",
                                                 secret.size(), kLeastSecretBytes),
                    path)));
  }
  auto context = std::make_shared<TlsContext>(NewContext(), "", Derive(secret));
  OPENSSL_cleanse(secret.data(), secret.size());
  SSL_CTX_set_psk_use_session_callback(context->ssl.get(), OnConnecting);
  SSL_CTX_set_psk_find_session_callback(context->ssl.get(), OnAccepting);
  return context;
}

}  // namespace hoplite::net

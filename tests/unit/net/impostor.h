// An impostor: somebody who speaks TLS as every program can, by the library alone, and is no member.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <hoplite/config.h>

#include "net/tls_context.h"
#include "net/tls_words.h"

namespace hoplite::net {

inline constexpr auto kNode = TlsRole::kNode;
inline constexpr auto kDirectory = TlsRole::kDirectory;
inline constexpr const char* kSecret = "0123456789abcdef";  // of the members

// What somebody has who is no member.
struct ImpostorHas {
  std::string what;
  SecurityConfig certificate = {};  // empty: none
  bool asks_for_certificate = false;
  bool guesses_secret = false;
  int version = TLS1_3_VERSION;
};

class Impostor {
 public:
  Impostor(const ImpostorHas& has, int socket, bool accepts) : context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX* context = context_.get();
    SSL_CTX_set_max_proto_version(context, has.version);
    SSL_CTX_set_verify(context, has.asks_for_certificate ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       [](int, X509_STORE_CTX*) { return 1; });
    if (!has.certificate.tls_cert.empty()) ShowCertificate(has.certificate);
    if (has.guesses_secret) {
      SSL_CTX_set_psk_use_session_callback(context, Offer);
      SSL_CTX_set_psk_find_session_callback(context, Find);
    }
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), socket);
    accepts ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  }

  // Goes on with the handshake, and then with what the member says.
  void Step() {
    ERR_clear_error();
    if (!why_.empty()) return;
    int done = SSL_do_handshake(ssl_.get());
    if (done == 1) {
      shaken_ = true;
      std::size_t got = 0;
      std::array<char, 1000> said{};
      done = SSL_read_ex(ssl_.get(), said.data(), said.size(), &got);
      heard_.append(said.data(), got);
    }
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_SSL) why_ = InWords(ERR_peek_last_error());
    if (error == SSL_ERROR_SYSCALL) why_ = "the socket has ended";
    ERR_clear_error();
  }
  bool shaken() const { return shaken_; }              // it takes itself to be connected
  const std::string& why() const { return why_; }      // how it failed; empty: not yet
  const std::string& heard() const { return heard_; }  // what the member has told it

 private:
  void ShowCertificate(const SecurityConfig& files) {
    EXPECT_TRUE(
        SSL_CTX_use_certificate_chain_file(context_.get(), files.tls_cert.c_str()) == 1 &&
        SSL_CTX_use_PrivateKey_file(context_.get(), files.tls_key.c_str(), SSL_FILETYPE_PEM) == 1);
  }

  static SSL_SESSION* Guess(SSL* ssl) {
    constexpr std::array<unsigned char, 2> kAes128{0x13, 0x01};
    constexpr TlsSecret kGuess{1, 2, 3};
    SSL_SESSION* session = SSL_SESSION_new();
    SSL_SESSION_set1_master_key(session, kGuess.data(), kGuess.size());
    SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kAes128.data()));
    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
    return session;
  }
  static int Offer(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* bytes,
                   SSL_SESSION** session) {
    constexpr std::string_view kIdentity = "hoplite";
    *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *bytes = kIdentity.size();
    *session = Guess(ssl);
    return 1;
  }
  static int Find(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
    *session = Guess(ssl);
    return 1;
  }

  SslPtr<SSL_CTX> context_;
  SslPtr<SSL> ssl_;
  bool shaken_ = false;
  std::string why_;
  std::string heard_;
};

}  // namespace hoplite::net

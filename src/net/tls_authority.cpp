#include "net/tls_authority.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "net/tls_context.h"

namespace hoplite::net {
namespace {

constexpr int kSerialBits = 127;

// Nothing here depends on what others say: it fails if memory or entropy lacks.
void Require(bool done) { HOPLITE_CHECK(done, "certificates can be made"); }

SslPtr<EVP_PKEY> NewKey() {
  SslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  Require(key != nullptr);
  return key;
}

void SetRandomSerial(X509* certificate) {
  BIGNUM* number = BN_new();
  Require(BN_rand(number, kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
          BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr);
  BN_free(number);
}

void SetTime(ASN1_TIME* time, std::chrono::seconds from_now) {
  const auto days = std::chrono::floor<std::chrono::days>(from_now);
  Require(X509_time_adj_ex(time, static_cast<int>(days.count()), (from_now - days).count(),
                           nullptr) != nullptr);
}

// A certificate of that name and key that nobody has signed.
SslPtr<X509> NewCertificate(const std::string& name, EVP_PKEY* key, TlsValidity validity) {
  SslPtr<X509> made(X509_new());
  Require(made != nullptr && X509_set_version(made.get(), 2) == 1);
  SetRandomSerial(made.get());
  SetTime(X509_getm_notBefore(made.get()), validity.begins);
  SetTime(X509_getm_notAfter(made.get()), validity.ends);
  constexpr std::size_t kLongestName = 64;
  const std::string shown = name.substr(0, kLongestName);
  Require(X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(shown.c_str()), -1, -1,
                                     0) == 1);
  Require(X509_set_pubkey(made.get(), key) == 1);
  return made;
}

struct Extension {
  int kind;
  std::string value;
};

void Sign(X509* certificate, X509* issuer, EVP_PKEY* key,
          const std::initializer_list<Extension>& extensions) {
  Require(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const auto& [kind, value] : extensions) {
    X509_EXTENSION* extension = X509V3_EXT_nconf_nid(nullptr, &context, kind, value.c_str());
    Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
  }
  Require(X509_sign(certificate, key, EVP_sha256()) > 0);
}

// A client of gRPC can check the name of a host only.
std::string NamesOf(const std::string& cluster, TlsRole role) {
  const std::string uri = "URI:" + UriOf(cluster, role);
  return role == TlsRole::kDirectory ? uri + ",DNS:directory.hoplite" : uri;
}

std::string TextOf(BIO* bio) {
  const char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

TlsPair ToPem(X509* certificate, EVP_PKEY* key) {
  const SslPtr<BIO> first(BIO_new(BIO_s_mem()));
  const SslPtr<BIO> second(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(first.get(), certificate) == 1 &&
          PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) ==
              1);
  return {TextOf(first.get()), TextOf(second.get())};
}

}  // namespace

struct TlsAuthority::State {
  SslPtr<X509> certificate;
  SslPtr<EVP_PKEY> key;
};

TlsAuthority::TlsAuthority(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsAuthority::~TlsAuthority() = default;
TlsAuthority::TlsAuthority(TlsAuthority&&) noexcept = default;

TlsAuthority TlsAuthority::Make(TlsValidity validity) {
  SslPtr<EVP_PKEY> key = NewKey();
  SslPtr<X509> own = NewCertificate("hoplite authority", key.get(), validity);
  Sign(own.get(), own.get(), key.get(),
       {{NID_basic_constraints, "critical,CA:TRUE"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"}});
  return TlsAuthority(std::make_unique<State>(std::move(own), std::move(key)));
}

Result<TlsAuthority> TlsAuthority::Read(const TlsPair& pair) {
  SslPtr<X509> own(PEM_read_bio_X509(Reading(pair.certificate).get(), nullptr, nullptr, nullptr));
  SslPtr<EVP_PKEY> key = PrivateKeyIn(pair.key);
  const bool fits = own && key && X509_check_private_key(own.get(), key.get()) == 1;
  TlsFailure("");
  if (fits) return TlsAuthority(std::make_unique<State>(std::move(own), std::move(key)));
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument, "are no certificate and its private key in PEM"));
}

TlsPair TlsAuthority::pair() const { return ToPem(state_->certificate.get(), state_->key.get()); }

TlsPair TlsAuthority::Issue(const std::string& cluster, TlsRole role, TlsValidity validity) const {
  const SslPtr<EVP_PKEY> key = NewKey();
  const SslPtr<X509> made =
      NewCertificate(fmt::format("hoplite {}", Name(role)), key.get(), validity);
  Sign(made.get(), state_->certificate.get(), state_->key.get(),
       {{NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth,clientAuth"},
        {NID_subject_alt_name, NamesOf(cluster, role)},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid"}});
  return ToPem(made.get(), key.get());
}

}  // namespace hoplite::net

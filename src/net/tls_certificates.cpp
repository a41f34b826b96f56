// TLS by certificates: what is read from files, and what the certificate of a peer must say.
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/try.h"
#include "net/tls_context.h"
#include "net/tls_files.h"
#include "net/tls_socket.h"
#include "net/tls_words.h"

namespace hoplite::net {
namespace {

constexpr std::string_view kScheme = "hoplite://";

std::unexpected<Error> Bad(const std::string& what) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, what));
}

using Certificates = std::vector<SslPtr<X509>>;

Result<Certificates> ReadAll(const std::string& path, const std::string& what) {
  TRY_ASSIGN(const std::string content, ReadSmallFile(path, what, Others::kRead));
  const SslPtr<BIO> bio = Reading(content);
  Certificates read;
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    read.emplace_back(one);
  }
  // The end of a file looks like a block that does not begin.
  const std::string why = TlsFailure("");
  if (read.empty() || why != "no start line") {
    return Bad(fmt::format("{} {}: holds no whole certificate in PEM", what, path));
  }
  return read;
}

Result<SslPtr<EVP_PKEY>> ReadKey(const std::string& path, Others others) {
  TRY_ASSIGN(std::string content, ReadSmallFile(path, "key", others));
  SslPtr<EVP_PKEY> key = PrivateKeyIn(content);
  OPENSSL_cleanse(content.data(), content.size());
  if (key == nullptr) {
    return Bad(fmt::format("key {}: holds no private key in PEM without a passphrase", path));
  }
  return key;
}

// Whether peers with the same authority would take it.
Result<void> CheckOwn(const Certificates& chain, X509_STORE* store, const std::string& path) {
  STACK_OF(X509)* between = sk_X509_new_null();
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(between, chain[i].get());
  const SslPtr<X509_STORE_CTX> check(X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), store, chain.front().get(), between);
  const bool good = X509_verify_cert(check.get()) == 1;
  const int error = X509_STORE_CTX_get_error(check.get());
  sk_X509_free(between);
  if (good) return {};
  return Bad(fmt::format("certificate {} {}", path, WhyNotValid(error)));
}

// Of a certificate's URI; none: it is no such URI.
struct Named {
  std::string_view cluster;
  std::string_view role;
};
std::optional<Named> Parse(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return Named{uri.substr(0, slash), uri.substr(slash + 1)};
}

// The cluster that the certificate names.
Result<std::string> CheckIdentity(X509* certificate, TlsRole self,
                                  const std::optional<std::string>& cluster,
                                  const std::string& path) {
  const std::string uri = UriIn(certificate);
  const auto named = Parse(uri);
  if (!named) {
    return Bad(fmt::format(
        "certificate {}: names no member: it needs a URI such as {} as alternative name", path,
        UriOf(cluster.value_or("CLUSTER"), self)));
  }
  if (named->role != Name(self) || (cluster && uri != UriOf(*cluster, self))) {
    return Bad(fmt::format("certificate {}: is of {}, this is {}", path, uri,
                           cluster ? UriOf(*cluster, self) : fmt::format("a {}", Name(self))));
  }
  return std::string(named->cluster);
}

// The library's check, and then what the certificate says of its member.
int CheckPeer(X509_STORE_CTX* check, void* /*unused*/) {
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsSocket& socket = TlsSocket::Of(ssl);
  X509* certificate = X509_STORE_CTX_get0_cert(check);
  if (X509_verify_cert(check) != 1) {
    const int error = X509_STORE_CTX_get_error(check);
    socket.Reject(fmt::format("its certificate {}", WhyNotValid(error)));
    return 0;
  }
  const std::string uri = UriIn(certificate);
  const std::string wanted =
      fmt::format("{}{}/{}", kScheme, socket.context().cluster, Name(socket.peer_role()));
  if (uri == wanted) return 1;
  socket.Reject(fmt::format("its certificate is of {}, not of {}",
                            uri.empty() ? "no member of a cluster" : uri, wanted));
  X509_STORE_CTX_set_error(check, X509_V_ERR_INVALID_PURPOSE);
  return 0;
}

}  // namespace

std::string UriOf(const std::string& cluster, TlsRole role) {
  std::string name;
  for (const char byte : cluster) {
    const auto code = static_cast<unsigned char>(byte);
    const bool plain = std::isalnum(code) != 0 || byte == '-' || byte == '_' || byte == '.';
    name += plain ? std::string(1, byte) : fmt::format("%{:02X}", code);
  }
  return fmt::format("{}{}/{}", kScheme, name, Name(role));
}

std::string UriIn(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && found.empty(); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    const std::string uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                          static_cast<std::size_t>(ASN1_STRING_length(text)));
    if (uri.starts_with(kScheme)) found = uri;
  }
  GENERAL_NAMES_free(names);
  return found;
}

Result<TlsContextPtr> ReadCertificates(const SecurityConfig& config, TlsRole self,
                                       const std::optional<std::string>& cluster) {
  TRY_ASSIGN(const Certificates authorities, ReadAll(config.tls_ca, "authority"));
  TRY_ASSIGN(const Certificates chain, ReadAll(config.tls_cert, "certificate"));
  TRY_ASSIGN(const SslPtr<EVP_PKEY> key,
             ReadKey(config.tls_key, OfSecrets(config.readable_secrets)));
  auto context = std::make_shared<TlsContext>(NewContext(), "", std::nullopt);
  SSL_CTX* ssl = context->ssl.get();
  X509_STORE* store = SSL_CTX_get_cert_store(ssl);
  for (const auto& authority : authorities) X509_STORE_add_cert(store, authority.get());
  TRY_ASSIGN(context->cluster, CheckIdentity(chain.front().get(), self, cluster, config.tls_cert));
  TRY(CheckOwn(chain, store, config.tls_cert));
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    TlsFailure("");
    return Bad(
        fmt::format("key {}: is not that of certificate {}", config.tls_key, config.tls_cert));
  }
  bool taken = SSL_CTX_use_certificate(ssl, chain.front().get()) == 1 &&
               SSL_CTX_use_PrivateKey(ssl, key.get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    taken = taken && SSL_CTX_add1_chain_cert(ssl, chain[i].get()) == 1;
  }
  if (!taken) {
    return Bad(fmt::format("certificate {}: {}", config.tls_cert, TlsFailure("is not usable")));
  }
  SSL_CTX_set_cert_verify_callback(ssl, CheckPeer, nullptr);
  return context;
}

}  // namespace hoplite::net

#include "net/tls_words.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

namespace hoplite::net {

std::string WhyNotValid(int error) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "is not of this cluster's authority";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid yet";
    default:
      return X509_verify_cert_error_string(error);
  }
}

bool SpeaksNoTls(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_RECORD_LENGTH_MISMATCH || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
         reason == SSL_R_ENCRYPTED_LENGTH_TOO_LONG || reason == SSL_R_HTTPS_PROXY_REQUEST;
}

std::string InWords(unsigned long error) {
  if (SpeaksNoTls(error)) {
    return "it does not speak TLS, as this member does: it may lack its certificate or secret";
  }
  switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "it refuses this member's certificate: it has expired, by the peer's clock";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return "it refuses this member's certificate: not valid yet, by the peer's clock, or damaged";
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return "it refuses this member's certificate: of another cluster or role";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "it refuses this member's certificate: of an authority that it does not know";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "it wants a certificate, and this member has a secret";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "it wants a secret and this member has a certificate, or the other way round";
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "its secret is another one";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "it refuses TLS 1.3";
    case SSL_R_BINDER_DOES_NOT_VERIFY:
      return "its secret is another one";
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_CERTIFICATE_SET:
      return "it has no secret, or does not know this one's kind: a certificate perhaps";
    case SSL_R_EXCESSIVE_MESSAGE_SIZE:
      return "it says more than a handshake has";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "it shows no certificate";
    default:
      break;
  }
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "TLS failed" : fmt::format("TLS: {}", reason);
}

}  // namespace hoplite::net

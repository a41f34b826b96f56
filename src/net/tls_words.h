// What a failure of a handshake means, in words for who reads a log.
#pragma once

#include <string>

namespace hoplite::net {

// Of the library's error: what the peer's alert, or what it sent, means. The library's own words if
// this does not know it.
std::string InWords(unsigned long error);
// Why a certificate is not taken: `error` as of X509_verify_cert.
std::string WhyNotValid(int error);
// Whether what the peer began with is no TLS at all.
bool SpeaksNoTls(unsigned long error);

}  // namespace hoplite::net

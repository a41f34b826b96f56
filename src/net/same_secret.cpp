#include "net/same_secret.h"

#include <openssl/crypto.h>

namespace hoplite::net {

bool SameSecret(std::string_view told, std::string_view secret) {
  return told.size() == secret.size() &&
         CRYPTO_memcmp(told.data(), secret.data(), secret.size()) == 0;
}

}  // namespace hoplite::net

// What a member of a cluster is, as its certificate says.
#pragma once

#include <string_view>

namespace hoplite::net {

enum class TlsRole { kNode, kDirectory };

constexpr std::string_view Name(TlsRole role) {
  return role == TlsRole::kNode ? "node" : "directory";
}

}  // namespace hoplite::net

#include <hoplite/version.h>

namespace hoplite {

std::string_view Version() { return HOPLITE_VERSION; }

}  // namespace hoplite

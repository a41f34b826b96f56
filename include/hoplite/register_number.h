// RegisterNumber: which write of a register.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>

#include <hoplite/export.h>

namespace hoplite {

// Each is later than all of its register before it, and none comes again. The default is that of a
// register that nobody wrote yet.
struct RegisterNumber {
  std::uint64_t incarnation = 0;  // of the directory shard's life
  std::uint64_t sequence = 0;     // in that life

  constexpr explicit operator bool() const { return incarnation != 0; }
  friend constexpr auto operator<=>(const RegisterNumber&, const RegisterNumber&) = default;
};

// "incarnation.sequence"
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, RegisterNumber number);

}  // namespace hoplite

// One target as libFuzzer wants it; compiled once per target, which the build names.
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hoplite::fuzz::HOPLITE_FUZZ_TARGET({data, size});
  return 0;
}

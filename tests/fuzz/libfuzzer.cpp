// One target as libFuzzer wants it; compiled once per target, which the build names.
#include "base/log.h"
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A broken peer is worth a line in the log; a hunt has thousands of them in a second.
  [[maybe_unused]] static const bool quiet = hoplite::log::SetLevel("off");
  hoplite::fuzz::HOPLITE_FUZZ_TARGET({data, size});
  return 0;
}

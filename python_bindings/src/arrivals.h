// Arrivals: tells an event loop of Python which of its requests have been answered.
//
// Is told: by the clients' own threads, without the GIL. The loop watches the descriptor, and takes
// the numbers that it gave those requests. Must never: call Python. What is told after this has
// gone is told to nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace hoplite::python {

class Arrivals {
 public:
  // resource_exhausted (Raised): no descriptor is left.
  Arrivals();

  // Readable while there is something to take.
  int descriptor() const;
  std::vector<std::uint64_t> Take();
  // What Future::OnReady is to call.
  std::function<void()> Teller(std::uint64_t number) const;

 private:
  struct Told;
  std::shared_ptr<Told> told_;
};

}  // namespace hoplite::python

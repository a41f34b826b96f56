// A memfd that holds given bytes, as the store's segment does.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace hoplite::test {

class Memfd {
 public:
  explicit Memfd(std::span<const std::byte> bytes) : descriptor_(::memfd_create("test", 0)) {
    if (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) !=
        static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("cannot fill a memfd");
    }
  }
  ~Memfd() { ::close(descriptor_); }
  Memfd(const Memfd&) = delete;
  Memfd& operator=(const Memfd&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace hoplite::test

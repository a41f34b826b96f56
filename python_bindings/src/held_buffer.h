// HeldBuffer: a contiguous buffer of the caller, held while C++ reads or writes it. Made and
// destroyed with the GIL; its bytes are read without.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include <nanobind/nanobind.h>

namespace hoplite::python {

class HeldBuffer {
 public:
  enum class Access : int { kRead = PyBUF_SIMPLE, kWrite = PyBUF_WRITABLE };

  HeldBuffer(nanobind::handle object, Access access) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, static_cast<int>(access)) != 0) {
      throw nanobind::python_error();
    }
  }
  ~HeldBuffer() { PyBuffer_Release(&buffer_); }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

// What has such a buffer, as signatures name it.
class Memory : public nanobind::object {
  NB_OBJECT(Memory, nanobind::object, "memoryview | numpy.typing.NDArray[typing.Any]",
            PyObject_CheckBuffer)
};

using Pieces = nanobind::typed<nanobind::list, Memory>;

// Those of a list, to be read.
class HeldPieces {
 public:
  explicit HeldPieces(const Pieces& pieces) {
    for (const nanobind::handle piece : pieces) {
      spans_.push_back(held_.emplace_back(piece, HeldBuffer::Access::kRead).bytes());
    }
  }

  std::span<const std::span<const std::byte>> spans() const { return spans_; }

 private:
  std::deque<HeldBuffer> held_;
  std::vector<std::span<const std::byte>> spans_;
};

}  // namespace hoplite::python

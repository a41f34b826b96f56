// Calls from C++ at a node of this host, as local_calls.py makes them from Python: an agent.
//
//   attach SOCKET      {}
//   get BYTES TIMES    {"times":[...]}: nanoseconds of each get of the array that local_calls.py has made
//   put BYTES TIMES    {"times":[...]}: nanoseconds of each put of so many bytes
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <hoplite/hoplite.h>

#include "../cluster/agent.h"

namespace {

using hoplite::bench::JsonArray;
using hoplite::bench::Nanoseconds;
using hoplite::bench::Now;
using hoplite::bench::Word;

constexpr std::chrono::seconds kTimeout{100};

template <typename T>
T Value(hoplite::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string Times(const std::vector<Nanoseconds>& times) { return "\"times\":" + JsonArray(times); }

// Bytes as NumPy has its large arrays: in large pages, and where malloc puts them, 16 bytes behind
// the beginning of a page. A copy of what begins with a page takes 0.92 of the time.
class Bytes {
 public:
  explicit Bytes(std::size_t size) : size_(size) {
    memory_.reset(static_cast<std::byte*>(std::malloc(size)));
    if (!memory_) throw std::bad_alloc();
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(memory_.get()) + kPage - 1) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(memory_.get()) + size;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    std::memset(memory_.get(), 1, size);
  }

  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  static constexpr std::size_t kPage = 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

// One client, and the bytes that it puts again and again.
class Calls {
 public:
  std::string Attach(std::istream& words) {
    client_ = Value(hoplite::Client::Connect(Word<std::string>(words)));
    return "";
  }

  std::string Get(std::istream& words) {
    const auto size = Word<std::size_t>(words);
    std::vector<Nanoseconds> took(Word<std::size_t>(words));
    const auto id = hoplite::ObjectId::FromName("array-" + std::to_string(size));
    for (Nanoseconds& time : took) {
      const Nanoseconds begin = Now();
      const hoplite::Buffer view = Value(client_->Get(id, {.timeout = kTimeout}));
      time = Now() - begin;
      float last = 0;
      std::memcpy(&last, &view.bytes()[size - sizeof last], sizeof last);
      if (view.size() != size || last != 1.0F) throw std::runtime_error("wrong bytes");
    }
    return Times(took);
  }

  std::string Put(std::istream& words) {
    const auto size = Word<std::size_t>(words);
    std::vector<Nanoseconds> took(Word<std::size_t>(words));
    if (!bytes_ || bytes_->bytes().size() != size) bytes_.emplace(size);
    for (Nanoseconds& time : took) {
      const Nanoseconds begin = Now();
      const auto id = Value(client_->Put(bytes_->bytes(), {.timeout = kTimeout}));
      time = Now() - begin;
      Value(client_->Delete(id, {.timeout = kTimeout}));
    }
    return Times(took);
  }

 private:
  std::optional<hoplite::Client> client_;
  std::optional<Bytes> bytes_;
};

}  // namespace

int main() {
  Calls calls;
  return hoplite::bench::RunAgent({
      {"attach", [&](std::istream& words) { return calls.Attach(words); }},
      {"get", [&](std::istream& words) { return calls.Get(words); }},
      {"put", [&](std::istream& words) { return calls.Put(words); }},
  });
}

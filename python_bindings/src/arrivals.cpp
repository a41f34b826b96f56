#include "arrivals.h"

#include <mutex>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "errors.h"

namespace hoplite::python {

struct Arrivals::Told {
  explicit Told(int descriptor_in) : descriptor(descriptor_in) {}
  ~Told() { ::close(descriptor); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  const int descriptor;
  std::mutex mutex;
  std::vector<std::uint64_t> numbers;  // under the mutex
};

Arrivals::Arrivals() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    throw Raised{Error(ErrorCode::kResourceExhausted,
                       "this process has no free file descriptor for its event loop")};
  }
  told_ = std::make_shared<Told>(descriptor);
}

int Arrivals::descriptor() const { return told_->descriptor; }

std::vector<std::uint64_t> Arrivals::Take() {
  eventfd_t count = 0;
  ::eventfd_read(told_->descriptor, &count);  // before: what is told from now on wakes again
  const std::lock_guard lock(told_->mutex);
  return std::exchange(told_->numbers, {});
}

std::function<void()> Arrivals::Teller(std::uint64_t number) const {
  return [told = told_, number] {
    {
      const std::lock_guard lock(told->mutex);
      told->numbers.push_back(number);
    }
    ::eventfd_write(told->descriptor, 1);
  };
}

}  // namespace hoplite::python

// Standstill: a loop held up from the constructor to the destructor, as by SIGSTOP.
#pragma once

#include <future>
#include <memory>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

namespace hoplite::test {

class Standstill {
 public:
  explicit Standstill(asio::io_context& loop) {
    // What the loop waits for it keeps itself: this may be gone before the loop looks at it.
    const auto stands = std::make_shared<std::promise<void>>();
    asio::post(loop, [stands, go_on = go_on_.get_future().share()] {
      stands->set_value();
      go_on.wait();
    });
    stands->get_future().wait();
  }
  ~Standstill() { go_on_.set_value(); }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  std::promise<void> go_on_;
};

}  // namespace hoplite::test

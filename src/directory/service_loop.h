// ServiceLoop: where a DirectoryService runs: one thread at a time, which runs what it is given.
#pragma once

#include <functional>

#include <asio/io_context.hpp>

#include "base/time.h"
#include "net/timer.h"

namespace hoplite::directory {

class ServiceLoop {
 public:
  using Work = std::function<void()>;

  virtual ~ServiceLoop() = default;
  // Any thread. Runs soon, never within this call, in the order of coming.
  virtual void Post(Work work) = 0;
  virtual void After(Duration delay, Work work) = 0;
  // On the loop, of which there is one alarm: it takes the place of the last. kNever: none.
  virtual void SetAlarm(Time when, Work work) = 0;
};

// A loop of Asio, which must outlive what it was given.
class AsioServiceLoop final : public ServiceLoop {
 public:
  explicit AsioServiceLoop(asio::io_context& loop) : loop_(loop), alarm_(loop) {}

  void Post(Work work) override;
  void After(Duration delay, Work work) override;
  void SetAlarm(Time when, Work work) override;

 private:
  asio::io_context& loop_;
  net::Timer alarm_;
};

}  // namespace hoplite::directory

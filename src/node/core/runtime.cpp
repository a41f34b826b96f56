#include "node/core/runtime.h"

#include <algorithm>
#include <exception>
#include <future>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <pthread.h>

#include "base/clock.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/try.h"

namespace hoplite::node {
namespace {

std::string Describe(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace

Runtime::Runtime(std::size_t data_threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(data_threads, 1); ++i) {
    data_.push_back(std::make_unique<asio::io_context>(1));
  }
  guards_.push_back(asio::make_work_guard(main_));
  for (const auto& loop : data_) guards_.push_back(asio::make_work_guard(*loop));
}

Runtime::~Runtime() {
  JoinPool();
  StopLoops();
}

std::vector<asio::io_context*> Runtime::data_loops() {
  std::vector<asio::io_context*> loops;
  for (const auto& loop : data_) loops.push_back(loop.get());
  return loops;
}

std::vector<asio::io_context*> Runtime::all_loops() {
  std::vector<asio::io_context*> loops = data_loops();
  loops.push_back(&main_);
  loops.push_back(&pool_);
  return loops;
}

Result<void> Runtime::Start(const std::string& thread_name) {
  const auto thread = [](asio::io_context& loop, const std::string& name) {
    return StartThread([&loop, name] {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      loop.run();
    });
  };
  std::vector<asio::io_context*> loops = data_loops();
  loops.insert(loops.begin(), &main_);
  for (asio::io_context* loop : loops) {
    TRY_ASSIGN(std::thread started,
               thread(*loop, thread_name + (loop == &main_ ? "/main" : "/data")));
    threads_.push_back(std::move(started));
  }
  TRY_ASSIGN(pool_thread_, thread(pool_, thread_name + "/pool"));
  return {};
}

void Runtime::Spawn(asio::io_context& loop, const char* what, net::Task<void> task) {
  {
    const MutexLock lock(mutex_);
    ++tasks_;
  }
  asio::co_spawn(loop.get_executor(), std::move(task), [this, what](std::exception_ptr exception) {
    if (exception) log::ErrorLine("{} ended with an exception: {}", what, Describe(exception));
    TaskEnded();
  });
}

void Runtime::TaskEnded() {
  const MutexLock lock(mutex_);
  --tasks_;
  ended_.NotifyAll();
}

void Runtime::RunOnPool(std::function<void()> work) { asio::post(pool_, std::move(work)); }

void Runtime::OnMain(const std::function<void()>& work) {
  if (threads_.empty()) return work();
  std::promise<void> done;
  asio::post(main_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

bool Runtime::WaitForTasks(Duration bound) {
  const Time deadline = Now() + bound;
  const MutexLock lock(mutex_);
  while (tasks_ > 0 && ended_.WaitUntil(mutex_, deadline)) {
  }
  return tasks_ == 0;
}

std::size_t Runtime::tasks() const {
  const MutexLock lock(mutex_);
  return tasks_;
}

// What was given to it is done first.
void Runtime::JoinPool() {
  pool_guard_.reset();
  if (pool_thread_.joinable()) pool_thread_.join();
}

void Runtime::StopLoops() {
  guards_.clear();
  main_.stop();
  for (const auto& loop : data_) loop->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace hoplite::node

// When the system is out of something, the standard library and Asio throw. This makes an Error of
// that, so that it does not end the process.
#pragma once

#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <hoplite/result.h>

namespace hoplite {

// The result of `make`, or resource_exhausted with the reason why `what` can't be had.
template <typename Make>
auto OrExhausted(const char* what, Make&& make) -> decltype(make()) {
  try {
    return std::forward<Make>(make)();
  } catch (const std::system_error& error) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted, std::string(what) + ": " + error.what()));
  } catch (const std::bad_alloc&) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted, std::string(what) + ": no memory is left"));
  }
}

template <typename Thread = std::thread, typename Body>
Result<Thread> StartThread(Body&& body) {
  return OrExhausted("no thread can be made",
                     [&]() -> Result<Thread> { return Thread(std::forward<Body>(body)); });
}

}  // namespace hoplite

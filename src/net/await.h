// What coroutines on an io_context use to await Asio's own operations: without type erasure.
#pragma once

#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

namespace hoplite::net {

inline constexpr asio::use_awaitable_t<asio::io_context::executor_type> kAwait{};

// co_await x.async_wait(Into(ec)): the error goes to ec instead of being thrown.
inline auto Into(asio::error_code& ec) { return asio::redirect_error(kAwait, ec); }

}  // namespace hoplite::net

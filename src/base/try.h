// Statements (never expressions: see docs/coroutines.md) that return early with the error.
#pragma once

#include <expected>
#include <utility>

#define HOPLITE_CONCAT_INNER(a, b) a##b
#define HOPLITE_CONCAT(a, b) HOPLITE_CONCAT_INNER(a, b)

// TRY(expression): returns its error, or goes on.
#define TRY(...)                                                              \
  do {                                                                        \
    auto&& hoplite_try = (__VA_ARGS__);                                       \
    if (!hoplite_try) return std::unexpected(std::move(hoplite_try).error()); \
  } while (false)

// TRY_ASSIGN(auto x, expression): the value, or returns the error.
#define TRY_ASSIGN(declaration, ...)                                                   \
  auto HOPLITE_CONCAT(hoplite_try_, __LINE__) = (__VA_ARGS__);                         \
  if (!HOPLITE_CONCAT(hoplite_try_, __LINE__))                                         \
    return std::unexpected(std::move(HOPLITE_CONCAT(hoplite_try_, __LINE__)).error()); \
  declaration = *std::move(HOPLITE_CONCAT(hoplite_try_, __LINE__))

// The same in a coroutine. The expression may be a co_await of a *named* or move-built argument.
#define CO_TRY(...)                                                              \
  do {                                                                           \
    auto&& hoplite_try = (__VA_ARGS__);                                          \
    if (!hoplite_try) co_return std::unexpected(std::move(hoplite_try).error()); \
  } while (false)

#define CO_TRY_ASSIGN(declaration, ...)                                                   \
  auto HOPLITE_CONCAT(hoplite_try_, __LINE__) = (__VA_ARGS__);                            \
  if (!HOPLITE_CONCAT(hoplite_try_, __LINE__))                                            \
    co_return std::unexpected(std::move(HOPLITE_CONCAT(hoplite_try_, __LINE__)).error()); \
  declaration = *std::move(HOPLITE_CONCAT(hoplite_try_, __LINE__))

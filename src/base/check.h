// Checks that stay on in release builds. A failed check is a bug of this library, never bad input:
// input from the API or the wire is answered with an Error.
#pragma once

#include <cstdio>
#include <cstdlib>

#define HOPLITE_CHECK(condition, why)                                                              \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", __FILE__, __LINE__, #condition, why); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

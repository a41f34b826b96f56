// What every public C++ header begins with: the language that it needs, and the mark of what the
// installed shared library shows (everything else in it is hidden).
#pragma once

#if __cplusplus < 202002L
#error "The C++ headers of Hoplite need C++20 or newer: compile with -std=c++20 (GCC 11, Clang 14)."
#endif

#define HOPLITE_EXPORT __attribute__((visibility("default")))

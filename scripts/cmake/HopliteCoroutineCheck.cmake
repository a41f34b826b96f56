# GCC 12 destroys the temporaries of a co_await expression twice (see coroutine_check.cpp). A library
# full of coroutines built that way corrupts memory with no warning, so refuse at configure time.

if(DEFINED HOPLITE_COROUTINES_WORK)
  return()
endif()

try_run(HOPLITE_COROUTINE_EXIT HOPLITE_COROUTINE_COMPILES
        "${PROJECT_BINARY_DIR}/coroutine_check" "${CMAKE_CURRENT_LIST_DIR}/coroutine_check.cpp"
        CXX_STANDARD 23 CXX_STANDARD_REQUIRED ON
        COMPILE_OUTPUT_VARIABLE HOPLITE_COROUTINE_OUTPUT)
if(NOT HOPLITE_COROUTINE_COMPILES OR NOT HOPLITE_COROUTINE_EXIT EQUAL 0)
  message(FATAL_ERROR
          "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++ coroutines: a temporary "
          "in a co_await expression is destroyed more often than it is built. Use Clang 19 (the presets "
          "do: cmake --preset release); Clang 14 and newer are known to be right, GCC 12 is known to be "
          "wrong.\n${HOPLITE_COROUTINE_OUTPUT}")
endif()
set(HOPLITE_COROUTINES_WORK TRUE CACHE INTERNAL "this compiler builds coroutines rightly")

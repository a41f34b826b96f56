# Language level, warnings, sanitizers, ccache; refuses a compiler that miscompiles coroutines.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HOPLITE_CCACHE ccache)
if(HOPLITE_CCACHE)
  # The sloppiness lets ccache reuse objects that were built with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${HOPLITE_CCACHE})
endif()

add_library(hoplite_flags INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(hoplite_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  target_link_options(hoplite_flags INTERFACE -fuse-ld=lld)
endif()
if(HOPLITE_DEVELOPER)
  target_compile_options(hoplite_flags INTERFACE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor
                         -Woverloaded-virtual -Wimplicit-fallthrough)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(hoplite_flags INTERFACE -Wthread-safety -Wunused-member-function
                           -Wno-missing-designated-field-initializers -Wno-missing-field-initializers)
  endif()
endif()
# All presets but `debug` compile two dozen sources as one: that takes half the time. What one of them
# names in an unnamed namespace, or includes, is then seen by the next: tests/lint/alone.py judges.
target_compile_options(hoplite_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>)
# The check `vptr` asks by a pipe whether memory can be read, so it fails where a test lets descriptors run out. An
# access through a null or overflown pointer is found without a check at each step to it (an eighth of the compile time).
if(HOPLITE_SANITIZE)
  target_compile_options(hoplite_flags INTERFACE -fsanitize=${HOPLITE_SANITIZE} -fno-sanitize=vptr,null,pointer-overflow
                         -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  # Unoptimized code takes half the time to compile. TSan builds little and slows down most.
  if(HOPLITE_SANITIZE MATCHES thread)
    target_compile_options(hoplite_flags INTERFACE -O1)
  else()
    target_compile_options(hoplite_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:HOPLITE_OPTIMIZED>>:-O1>)
  endif()
  target_link_options(hoplite_flags INTERFACE -fsanitize=${HOPLITE_SANITIZE})
endif()

# A target that says no to HOPLITE_OPTIMIZED is compiled quickly (it comes after the build type's -O).
target_compile_options(hoplite_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:HOPLITE_OPTIMIZED>,FALSE>:-O0>)

if(HOPLITE_FUZZ)
  target_compile_options(hoplite_flags INTERFACE -fsanitize=fuzzer-no-link -O2)
  # Without sanitizers it is there for the number of inputs: little is counted, and the standard library checks itself.
  if(NOT HOPLITE_SANITIZE)
    target_compile_options(hoplite_flags INTERFACE -fno-sanitize-coverage=trace-cmp,indirect-calls
                           -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/uncounted.txt)
    target_compile_definitions(hoplite_flags INTERFACE _GLIBCXX_ASSERTIONS)
  endif()
endif()

include(HopliteCoroutineCheck)

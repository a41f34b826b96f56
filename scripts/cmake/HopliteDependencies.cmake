# Every library we link. Those that bring no CMake package get a target here. What is missing is told
# in one error.

set(missing)
macro(hoplite_find name)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    list(APPEND missing ${name})
  endif()
endmacro()
macro(hoplite_find_header variable header)
  find_path(${variable} ${header})
  if(NOT ${variable})
    list(APPEND missing ${header})
  endif()
endmacro()

find_package(Threads REQUIRED)
hoplite_find(Boost 1.74 CONFIG)
hoplite_find(Protobuf)
if(HOPLITE_ADMIN)
  hoplite_find(gRPC CONFIG)
endif()
hoplite_find(spdlog CONFIG)
hoplite_find(fmt CONFIG)
hoplite_find(CLI11 CONFIG)
hoplite_find(nlohmann_json CONFIG)
hoplite_find(hwy CONFIG)
if(HOPLITE_DEVELOPER)
  hoplite_find(GTest CONFIG)
  hoplite_find(benchmark CONFIG)
endif()
hoplite_find_header(HOPLITE_ASIO_INCLUDE asio.hpp)
hoplite_find_header(HOPLITE_XXHASH_INCLUDE xxhash.h)
find_library(HOPLITE_XXHASH_LIBRARY xxhash)
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "Not found: ${missing}. scripts/setup.sh installs what is missing (on Debian 12).")
endif()

# Processors between SSSE3 and SSE4 are not worth the code.
target_compile_definitions(hwy::hwy INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)

add_library(hoplite_asio INTERFACE)
target_include_directories(hoplite_asio SYSTEM INTERFACE ${HOPLITE_ASIO_INCLUDE})
# Asio 1.22 asks the compiler's name before it believes in coroutines, and includes <coroutine> too late.
target_compile_definitions(hoplite_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED ASIO_HAS_CO_AWAIT=1
                           ASIO_HAS_STD_COROUTINE=1)
target_compile_options(hoplite_asio INTERFACE "SHELL:-include coroutine" "SHELL:-include utility")
target_link_libraries(hoplite_asio INTERFACE Threads::Threads)

add_library(hoplite_xxhash INTERFACE)
target_include_directories(hoplite_xxhash SYSTEM INTERFACE ${HOPLITE_XXHASH_INCLUDE})
target_link_libraries(hoplite_xxhash INTERFACE ${HOPLITE_XXHASH_LIBRARY})

# gRPC without TLS, from its static libraries: a program that has them starts 7 ms sooner than with the
# 45 shared ones, and what nobody calls is left out. (Its own CMake targets are the shared ones.)
if(HOPLITE_ADMIN)
  add_library(hoplite_grpc INTERFACE)
  foreach(name grpc++_unsecure grpc++_reflection grpc_unsecure gpr address_sorting upb)
    find_library(HOPLITE_STATIC_${name} lib${name}.a)
    if(NOT HOPLITE_STATIC_${name})
      message(FATAL_ERROR "Not found: lib${name}.a of gRPC. scripts/setup.sh installs what is missing (on Debian 12); "
                          "-DHOPLITE_ADMIN=OFF builds without gRPC.")
    endif()
    list(APPEND grpc_libraries "${HOPLITE_STATIC_${name}}")
  endforeach()
  cmake_path(GET HOPLITE_STATIC_gpr PARENT_PATH grpc_folder)
  file(GLOB absl_libraries "${grpc_folder}/libabsl_*.a")
  list(JOIN absl_libraries "," absl_libraries)
  list(JOIN grpc_libraries "," grpc_libraries)
  target_link_libraries(hoplite_grpc INTERFACE
    "$<LINK_GROUP:RESCAN,${grpc_libraries},${absl_libraries}>" protobuf::libprotobuf cares z Threads::Threads)
endif()

# Every library we link. Those that bring no CMake package get a target here.

find_package(Threads REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(hwy CONFIG REQUIRED)
# Processors between SSSE3 and SSE4 are not worth the code.
target_compile_definitions(hwy::hwy INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)

find_path(HOPLITE_ASIO_INCLUDE asio.hpp REQUIRED)
add_library(hoplite_asio INTERFACE)
target_include_directories(hoplite_asio SYSTEM INTERFACE ${HOPLITE_ASIO_INCLUDE})
# Asio 1.22 asks the compiler's name before it believes in coroutines, and includes <coroutine> too late.
target_compile_definitions(hoplite_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED ASIO_HAS_CO_AWAIT=1
                           ASIO_HAS_STD_COROUTINE=1)
target_compile_options(hoplite_asio INTERFACE "SHELL:-include coroutine" "SHELL:-include utility")
target_link_libraries(hoplite_asio INTERFACE Threads::Threads)

find_path(HOPLITE_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(HOPLITE_XXHASH_LIBRARY xxhash REQUIRED)
add_library(hoplite_xxhash INTERFACE)
target_include_directories(hoplite_xxhash SYSTEM INTERFACE ${HOPLITE_XXHASH_INCLUDE})
target_link_libraries(hoplite_xxhash INTERFACE ${HOPLITE_XXHASH_LIBRARY})

if(HOPLITE_DEVELOPER)
  find_package(GTest CONFIG REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
endif()

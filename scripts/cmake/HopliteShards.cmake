# Cases of a GoogleTest program, fifty to a process where the environment has HOPLITE_SHARDS when ctest
# starts: to start a process, under a sanitizer above all, takes longer than most cases. Which cases go
# together GoogleTest decides (GTEST_TOTAL_SHARDS).
#
# hoplite_shards(NAME LABELS ... TIMEOUT seconds), after gtest_discover_tests(NAME ...): the tests are
# NAME.1, NAME.2, ... then. Run as a script, once the program is built, this file writes them.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(HOPLITE_SHARDS_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

  function(hoplite_shards name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS" ${ARGN})
    set(shards "${CMAKE_CURRENT_BINARY_DIR}/${name}_shards.cmake")
    add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS "${shards}" VERBATIM
      COMMAND ${CMAKE_COMMAND} -D "NAME=${name}" -D "PROGRAM=$<TARGET_FILE:${name}>" -D "SHARDS=${shards}"
              -D "LABELS=${ARG_LABELS}" -D "TIMEOUT=${ARG_TIMEOUT}" -P "${HOPLITE_SHARDS_SCRIPT}")
    # What gtest_discover_tests has ctest include is the other choice.
    get_property(included DIRECTORY PROPERTY TEST_INCLUDE_FILES)
    list(POP_BACK included cases)
    set(choice "${CMAKE_CURRENT_BINARY_DIR}/${name}_choice.cmake")
    file(WRITE "${choice}" "if(DEFINED ENV{HOPLITE_SHARDS} AND EXISTS [=[${shards}]=])\n  include([=[${shards}]=])\n"
                           "else()\n  include([=[${cases}]=])\nendif()\n")
    set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES "${included}" "${choice}")
  endfunction()
  return()
endif()

execute_process(COMMAND "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [^\n]+" cases "${listed}")
list(LENGTH cases count)
math(EXPR shards "(${count} + 49) / 50")
set(written "")
foreach(number RANGE 1 ${shards})
  math(EXPR shard "${number} - 1")
  string(APPEND written
    "add_test([=[${NAME}.${number}]=] [=[${PROGRAM}]=] --gtest_brief=1)\n"
    "set_tests_properties([=[${NAME}.${number}]=] PROPERTIES LABELS [=[${LABELS}]=] TIMEOUT ${TIMEOUT}\n"
    "  ENVIRONMENT \"GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}\")\n")
endforeach()
file(WRITE "${SHARDS}" "${written}")

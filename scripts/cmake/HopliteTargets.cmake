# The three kinds of target this project has.

# hoplite_layer(NAME SOURCES a.cpp... [LINKS ...] [PRIVATE_LINKS ...] [PCH header...] [OPTIMIZED])
# A static library hoplite_NAME; its LINKS list is the statement of what the layer may use. OPTIMIZED is
# what counts or searches much: also under sanitizers.
function(hoplite_layer name)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINKS;PRIVATE_LINKS;PCH" ${ARGN})
  if(ARG_SOURCES)
    add_library(hoplite_${name} STATIC ${ARG_SOURCES})
    target_include_directories(hoplite_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(hoplite_${name} PUBLIC ${ARG_LINKS} PRIVATE hoplite_flags ${ARG_PRIVATE_LINKS})
    if(ARG_OPTIMIZED)
      set_target_properties(hoplite_${name} PROPERTIES HOPLITE_OPTIMIZED ON)
    endif()
    if(ARG_PCH)
      target_precompile_headers(hoplite_${name} PRIVATE ${ARG_PCH})
    endif()
  else()
    add_library(hoplite_${name} INTERFACE)
    target_include_directories(hoplite_${name} INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(hoplite_${name} INTERFACE ${ARG_LINKS})
  endif()
endfunction()

# hoplite_program(NAME SOURCES a.cpp... LINKS ...): an executable in bin/.
function(hoplite_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PCH" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE hoplite_flags ${ARG_LINKS})
  if(ARG_PCH)
    target_precompile_headers(${name} PRIVATE ${ARG_PCH})
  endif()
endfunction()

# What scripts/test.sh builds for the sanitizers, besides what these depend on.
add_custom_target(all_tests)
add_custom_target(tsan_tests)

# hoplite_test(NAME SOURCES a.cpp... LINKS ... [LABELS unit tsan ...] [TIMEOUT seconds] [OPTIMIZED] [ALSO_UNSANITIZED])
# A GoogleTest program whose cases ctest runs one by one, or those of units in shards. Labels: unit,
# conformance, sim, integration, root (needs root), slow (left out of builds with sanitizers), tsan (also
# run under TSan).
# What a test does is told once: its own sources are not optimized, which takes half the time to
# compile. Those that count or search much are OPTIMIZED; they take a core for themselves, beside which
# others wait (scripts/test.sh runs more tests than there are cores). With HOPLITE_SANITIZED_ELSEWHERE a
# build without sanitizers has only those, and ALSO_UNSANITIZED programs, of which some cases mean
# nothing under a sanitizer: the builds with sanitizers run the others.
function(hoplite_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;ALSO_UNSANITIZED" "TIMEOUT" "SOURCES;LINKS;LABELS;PCH" ${ARGN})
  if(HOPLITE_SANITIZE)
    if(slow IN_LIST ARG_LABELS)
      return()
    endif()
  elseif(HOPLITE_SANITIZED_ELSEWHERE AND NOT ARG_OPTIMIZED AND NOT ARG_ALSO_UNSANITIZED)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  hoplite_program(${name} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS} GTest::gmock GTest::gtest_main PCH ${ARG_PCH})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set_target_properties(${name} PROPERTIES HOPLITE_OPTIMIZED ${ARG_OPTIMIZED})
  set(weight 1)
  if(ARG_OPTIMIZED)
    set(weight 2)
  endif()
  add_dependencies(all_tests ${name})
  if(tsan IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${weight})
  if(NOT ARG_OPTIMIZED AND ("unit" IN_LIST ARG_LABELS OR "conformance" IN_LIST ARG_LABELS))
    hoplite_shards(${name} LABELS "${ARG_LABELS}" TIMEOUT 300)
  endif()
endfunction()

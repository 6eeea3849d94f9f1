# All tests are in one program, so that there is only one link step. Select suites with
# --gtest_filter.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/include/*.h ${CMAKE_SOURCE_DIR}/src/*.h)
if(EVERSTEP_HEADER_CHECK AND GTest_FOUND AND rapidcheck_FOUND)
  set(header_units "")
  foreach(header IN LISTS headers)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(REGEX REPLACE "^(include|src)/" "" name ${name})
    set(unit ${CMAKE_BINARY_DIR}/header_check/${name}.cc)
    # Twice, because a header must also allow repeated inclusion.
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${name}\"\n#include \"${name}\"\n")
    list(APPEND header_units ${unit})
  endforeach()
  add_library(everstep_header_check OBJECT ${header_units})
  target_compile_options(everstep_header_check PRIVATE -O0 -g0)
  target_link_libraries(everstep_header_check PRIVATE
    everstep_internal everstep_testing simdjson::simdjson everstep::rocksdb
    GTest::gmock rapidcheck)
endif()

if(NOT GTest_FOUND OR NOT rapidcheck_FOUND)
  message(STATUS "GoogleTest or rapidcheck not found: no tests")
  return()
endif()

file(GLOB_RECURSE tests CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/src/*_test.cc ${CMAKE_SOURCE_DIR}/tests/*.cc)
# Tests of program sources: each is compiled together with the file that it tests.
file(GLOB app_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/*/*_test.cc)
foreach(test IN LISTS app_tests)
  string(REGEX REPLACE "_test\\.cc$" ".cc" tested ${test})
  list(APPEND tests ${test} ${tested})
endforeach()
set(test_support ${tests})
list(FILTER test_support EXCLUDE REGEX "_test\\.cc$")
# These tests take too long with sanitizers.
set(slow_tests ${CMAKE_SOURCE_DIR}/tests/engine_simulation_test.cc
    ${CMAKE_SOURCE_DIR}/tests/store_crash_test.cc
    ${CMAKE_SOURCE_DIR}/tests/store_damage_test.cc
    ${CMAKE_SOURCE_DIR}/tests/store_log_damage_test.cc
    ${CMAKE_SOURCE_DIR}/tests/schema_equivalence_test.cc
    ${CMAKE_SOURCE_DIR}/src/serve/server_hostile_test.cc)
if(EVERSTEP_SANITIZE)
  list(REMOVE_ITEM tests ${slow_tests})
endif()
set(programs ${EVERSTEP_PROGRAMS})
if(EVERSTEP_TESTS_MATCHING)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tests})
  foreach(test IN LISTS tests)
    file(STRINGS ${test} found REGEX "${EVERSTEP_TESTS_MATCHING}" LIMIT_COUNT 1)
    if(NOT found AND test MATCHES "_test\\.cc$")
      list(REMOVE_ITEM tests ${test})
    endif()
  endforeach()
  set(programs "")
endif()

# Only for the files that use them, so that the others compile alike in every folder.
foreach(test IN LISTS tests slow_tests)
  file(STRINGS ${test} found REGEX "EVERSTEP_(SOURCE|BUILD)_DIR" LIMIT_COUNT 1)
  if(found)
    set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS
      "EVERSTEP_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";EVERSTEP_BUILD_DIR=\"${CMAKE_BINARY_DIR}\"")
  endif()
endforeach()

function(everstep_add_tests name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE
    everstep_internal everstep_testing simdjson::simdjson everstep::rocksdb OpenSSL::Crypto
    OpenSSL::SSL ZLIB::ZLIB
    GTest::gmock GTest::gtest_main rapidcheck)
  # Tests spend their time in the libraries, so fast compilation matters more than fast test code.
  if(EVERSTEP_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(EVERSTEP_SANITIZE MATCHES "undefined")
    # Halves the compile time of the tests. The code under test is still checked.
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  everstep_precompile(${name}
    ${everstep_std_headers} <filesystem> <fstream> <set> <sstream>
    <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)
endfunction()

everstep_add_tests(everstep-tests ${tests})
if(programs AND NOT EVERSTEP_SANITIZE)
  add_dependencies(everstep-tests ${programs})
endif()

# A separate program, so that a release build does not need to compile the other tests.
everstep_add_tests(everstep-slow-tests ${slow_tests} ${test_support})
set_target_properties(everstep-slow-tests PROPERTIES EXCLUDE_FROM_ALL ON)

enable_testing()
add_test(NAME everstep-tests COMMAND everstep-tests)

# Builds apps/<name>/*.cc as program <name>, examples/<name>.cc as a program that uses only the
# public headers, and bench/*.cc as the microbenchmarks.

set(EVERSTEP_PROGRAMS "")
file(GLOB app_directories CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/*)
foreach(directory IN LISTS app_directories)
  cmake_path(GET directory FILENAME name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${directory}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(NOT sources)
    continue()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${directory})
  target_link_libraries(${name} PRIVATE
    everstep_internal simdjson::simdjson Threads::Threads everstep::rocksdb
    ${EVERSTEP_BELOW_apps} ${EVERSTEP_BELOW_apps/${name}})
  target_compile_definitions(${name} PRIVATE EVERSTEP_VERSION="${PROJECT_VERSION}")
  everstep_precompile(${name} ${everstep_std_headers})
  list(APPEND EVERSTEP_PROGRAMS ${name})
endforeach()

file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.cc)
foreach(example IN LISTS examples)
  cmake_path(GET example STEM name)
  add_executable(example-${name} ${example})
  target_link_libraries(example-${name} PRIVATE everstep::everstep everstep_options)
  list(APPEND EVERSTEP_PROGRAMS example-${name})
endforeach()

file(GLOB benchmarks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.cc)
if(benchmarks AND benchmark_FOUND)
  add_executable(everstep-microbench ${benchmarks})
  target_link_libraries(everstep-microbench PRIVATE
    everstep_internal everstep_testing simdjson::simdjson everstep::rocksdb
    benchmark::benchmark_main)
endif()

# Compares src/net with Boost.Beast; only `make bench-http` needs Boost and builds it.
find_path(beast boost/beast.hpp)
if(beast)
  file(GLOB http_benchmarks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/http/*.cc)
  add_executable(everstep-bench-http EXCLUDE_FROM_ALL ${http_benchmarks}
    ${CMAKE_SOURCE_DIR}/apps/everstep/bench/load_client.cc
    ${CMAKE_SOURCE_DIR}/apps/everstep/bench/workload.cc)
  target_include_directories(everstep-bench-http PRIVATE ${CMAKE_SOURCE_DIR}/apps/everstep)
  target_link_libraries(everstep-bench-http PRIVATE everstep_internal PkgConfig::curl)
endif()

add_custom_target(programs DEPENDS ${EVERSTEP_PROGRAMS})

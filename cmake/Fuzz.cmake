# Builds each fuzz/<name>.cc as a libFuzzer program fuzz/<name> in the build directory.

if(NOT EVERSTEP_FUZZ)
  return()
endif()

# Instrument the code under test too, not only the entry point.
foreach(layer IN LISTS EVERSTEP_LAYERS)
  get_target_property(type everstep_${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_compile_options(everstep_${layer} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endforeach()

add_custom_target(fuzzers)
file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*.cc)
foreach(fuzzer IN LISTS fuzzers)
  cmake_path(GET fuzzer STEM name)
  add_executable(fuzz-${name} ${fuzzer})
  set_target_properties(fuzz-${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  target_compile_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(fuzz-${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(fuzz-${name} PRIVATE everstep_internal)
  add_dependencies(fuzzers fuzz-${name})
endforeach()

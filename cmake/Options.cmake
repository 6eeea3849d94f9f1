# Compiler options for all targets. The presets set them; nothing here depends on the layer.

set(EVERSTEP_SANITIZE "" CACHE STRING "Sanitizers for all targets, as -fsanitize takes them")
option(EVERSTEP_FUZZ "Build the libFuzzer programs too; needs clang" OFF)
option(EVERSTEP_HEADER_CHECK "Compile every header alone" OFF)
set(EVERSTEP_TESTS_MATCHING "" CACHE STRING
    "Build only test files whose text matches this regular expression, and no programs for them")
option(EVERSTEP_WERROR "Warnings are errors" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set_property(GLOBAL PROPERTY USE_FOLDERS ON)

add_library(everstep_options INTERFACE)
target_compile_options(everstep_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # Clang warns about EVERSTEP_ASSERT(!"reason"), g++ does not.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-string-conversion>
  # g++ 12 reports false overflows in moves of its own strings and variants.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  $<$<BOOL:${EVERSTEP_WERROR}>:-Werror>)

if(EVERSTEP_SANITIZE)
  add_compile_options(-fsanitize=${EVERSTEP_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EVERSTEP_SANITIZE})
endif()

find_program(EVERSTEP_CCACHE ccache)
if(EVERSTEP_CCACHE)
  # ccache requires this sloppiness for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${EVERSTEP_CCACHE})
endif()

# Precompiles the given headers for the target. Only saves build time: the check preset builds
# without it, so every file must still include what it uses.
function(everstep_precompile target)
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    # Required by ccache for precompiled headers.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
      $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()

set(everstep_std_headers <algorithm> <chrono> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <variant> <vector>)

# One static library per module of src/, linked as src/LAYERS allows.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/LAYERS)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS layer_lines REGEX "^[^#].*<-")

set(EVERSTEP_LAYERS "")
foreach(line IN LISTS layer_lines)
  string(REGEX MATCH "^([^ ]+) *<-(.*)$" _ "${line}")
  set(module ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "[^ ]+" below "${CMAKE_MATCH_2}")
  list(TRANSFORM below PREPEND everstep_)
  set(EVERSTEP_BELOW_${module} ${below})
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/src/${module})
    list(APPEND EVERSTEP_LAYERS ${module})
  endif()
endforeach()

foreach(layer IN LISTS EVERSTEP_LAYERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(everstep_${layer} STATIC ${sources})
    target_include_directories(everstep_${layer} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_include_directories(everstep_${layer} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(everstep_${layer}
      PUBLIC ${EVERSTEP_BELOW_${layer}}
      PRIVATE ${everstep_${layer}_needs} $<BUILD_INTERFACE:everstep_options>)
    everstep_precompile(everstep_${layer} ${everstep_${layer}_precompiled})
  else()
    add_library(everstep_${layer} INTERFACE)
    target_link_libraries(everstep_${layer} INTERFACE ${EVERSTEP_BELOW_${layer}})
  endif()
endforeach()

# The server embeds the documents that it serves.
file(GLOB served CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/errors/*.md)
list(APPEND served ${CMAKE_SOURCE_DIR}/schemas/openapi.json)
set(served_source ${CMAKE_BINARY_DIR}/generated/served_documents.cc)
add_custom_command(OUTPUT ${served_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${served_source} "-DDOCUMENTS=${served}"
          -P ${CMAKE_SOURCE_DIR}/cmake/EmbedDocuments.cmake
  DEPENDS ${served} ${CMAKE_SOURCE_DIR}/cmake/EmbedDocuments.cmake VERBATIM)
target_sources(everstep_serve PRIVATE ${served_source})
set_source_files_properties(${served_source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)

# The target for programs that embed Everstep: the public headers and their implementation.
add_library(everstep_api INTERFACE)
add_library(everstep::everstep ALIAS everstep_api)
set_target_properties(everstep_api PROPERTIES EXPORT_NAME everstep)
target_include_directories(everstep_api INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(everstep_api INTERFACE everstep_work everstep_client)

# For our own programs and tests, which may include internal headers.
add_library(everstep_internal INTERFACE)
target_include_directories(everstep_internal INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(everstep_internal INTERFACE everstep_serve everstep_api everstep_options)

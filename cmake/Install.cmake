# `cmake --install` installs the programs, the public headers and a package for
# find_package(everstep).

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(installed_layers ${EVERSTEP_LAYERS})
list(REMOVE_ITEM installed_layers testing)
list(TRANSFORM installed_layers PREPEND everstep_)
install(TARGETS everstep_api ${installed_layers} EXPORT everstep)
install(DIRECTORY include/everstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET everstep)
  install(TARGETS everstep)
endif()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/everstep)
install(EXPORT everstep NAMESPACE everstep:: FILE everstep-targets.cmake
        DESTINATION ${package_directory})
write_basic_package_version_file(everstep-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/everstep-config.cmake cmake/Rocksdb.cmake
              ${CMAKE_BINARY_DIR}/everstep-config-version.cmake
        DESTINATION ${package_directory})

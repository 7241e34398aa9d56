# Installed package: libraries, headers, program, CMake package, tenon.pc (plugins: plugins.cmake).
# No file contains the prefix, so a copy of the tree works at any place. The components are runtime,
# server, hub, media, plugins, program, development and documents: cmake --install BUILD_FOLDER --component
# runtime.
if(NOT TENON_INSTALL OR NOT TARGET tenon_shared)
  return()
endif()
include(CMakePackageConfigHelpers)

# Format the static libraries for tenon.pc.
list(TRANSFORM TENON_STATIC_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE TENON_PC_PRIVATE_LIBS)
list(TRANSFORM TENON_PC_PRIVATE_LIBS REPLACE "^-l-" "-")  # options of the linker
list(JOIN TENON_PC_PRIVATE_LIBS " " TENON_PC_PRIVATE_LIBS)
set(TENON_PC_REQUIRES_PRIVATE "")
if(TENON_STATIC_MODULES)
  list(JOIN TENON_STATIC_MODULES ", " TENON_PC_REQUIRES_PRIVATE)
  string(CONFIGURE "Requires.private: @TENON_PC_REQUIRES_PRIVATE@\n" TENON_PC_REQUIRES_PRIVATE
         @ONLY)
endif()

# Search paths of libraries from a file's own folder, and how the names of shared libraries end.
set(TENON_ORIGIN "$ORIGIN")
set(TENON_NAME_ENDING ".so.${PROJECT_VERSION}")
set(TENON_SONAME_ENDING ".so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(TENON_SONAME_PREFIX "")
if(APPLE)
  set(TENON_ORIGIN "@loader_path")
  set(TENON_NAME_ENDING ".${PROJECT_VERSION}.dylib")
  set(TENON_SONAME_ENDING ".${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.dylib")
  set(TENON_SONAME_PREFIX "@rpath/")
endif()

set(installed_libraries tenon_shared)
if(NOT (APPLE AND TENON_ZIG))  # there it would need zig's C++ library as well
  list(APPEND installed_libraries tenon_static)
endif()
install(TARGETS ${installed_libraries}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime  # Windows
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
if(WIN32)
  install(FILES ${PROJECT_BINARY_DIR}/lib/tenon.lib DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT development)
endif()
set(left_out "")
if(TARGET tenon_server)
  install(TARGETS tenon_server LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT server NAMELINK_COMPONENT development)
  set_target_properties(tenon_server PROPERTIES INSTALL_RPATH "${TENON_ORIGIN}")
else()
  list(APPEND left_out PATTERN "server.h" EXCLUDE)
endif()
if(TARGET tenon_hub)
  install(TARGETS tenon_hub LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT hub NAMELINK_COMPONENT development)
  set_target_properties(tenon_hub PROPERTIES INSTALL_RPATH "${TENON_ORIGIN}")
else()
  list(APPEND left_out PATTERN "hub.h" EXCLUDE)
endif()
if(TARGET tenon_media)
  install(TARGETS tenon_media LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT media NAMELINK_COMPONENT development)
else()
  list(APPEND left_out PATTERN "media.h" EXCLUDE PATTERN "media.hpp" EXCLUDE)
endif()
install(DIRECTORY capi/include/tenon include/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" ${left_out})
if(TARGET tenon_program)
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tenon_program PROPERTIES INSTALL_RPATH "${TENON_ORIGIN}/${to_libraries}")
  install(TARGETS tenon_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  include(program_documents)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
configure_package_config_file(cmake/tenon-config.cmake.in ${PROJECT_BINARY_DIR}/tenon-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
                                       CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tenon-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tenon-config.cmake
              ${PROJECT_BINARY_DIR}/tenon-config-version.cmake DESTINATION ${package_dir}
        COMPONENT development)

file(RELATIVE_PATH TENON_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TENON_PC_PREFIX ${TENON_PC_PREFIX})
configure_file(cmake/tenon.pc.in ${PROJECT_BINARY_DIR}/tenon.pc @ONLY)
# Static library under its own name: a linker that sees both takes the shared library.
string(REPLACE "Requires.private:" "Requires:" TENON_PC_REQUIRES_STATIC
       "${TENON_PC_REQUIRES_PRIVATE}")
set(TENON_PC_STATIC_LIBRARY "-l:libtenon.a")
if(APPLE)  # its linker takes no names of files
  set(TENON_PC_STATIC_LIBRARY "\${libdir}/libtenon.a")
endif()
configure_file(cmake/tenon-static.pc.in ${PROJECT_BINARY_DIR}/tenon-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenon.pc ${PROJECT_BINARY_DIR}/tenon-static.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(TARGET tenon_server)
  configure_file(cmake/tenon-server.pc.in ${PROJECT_BINARY_DIR}/tenon-server.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tenon-server.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
if(TARGET tenon_hub)
  configure_file(cmake/tenon-hub.pc.in ${PROJECT_BINARY_DIR}/tenon-hub.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tenon-hub.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
if(TARGET tenon_media)
  configure_file(cmake/tenon-media.pc.in ${PROJECT_BINARY_DIR}/tenon-media.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tenon-media.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

install(FILES LICENSE SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
# Bill of materials for third-party content in the files (docs/packaging.md); its inputs exist after
# linking.
find_program(TENON_PYTHON python3)
mark_as_advanced(TENON_PYTHON)
if(TENON_PYTHON AND CMAKE_GENERATOR MATCHES "Ninja" AND NOT TENON_SANITIZE)
  configure_file(cmake/packaging/install_sbom.cmake.in ${PROJECT_BINARY_DIR}/install_sbom.cmake
                 @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/install_sbom.cmake COMPONENT documents)
else()
  message(STATUS "No bill of materials is installed: it needs python3 and a build by ninja")
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(packaging/deb)
endif()

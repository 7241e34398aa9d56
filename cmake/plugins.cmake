# Backends as plugins: libtenon-<name>.so in <build>/lib/tenon and <libdir>/tenon; on Windows
# tenon-<name>.dll in <build>/bin/tenon and <bindir>/tenon; on macOS they end in .dylib.
set(TENON_LIBRARY_PREFIX lib)
set(TENON_PLUGIN_FOLDER ${PROJECT_BINARY_DIR}/lib/tenon)
if(TENON_INSTALL)
  set(TENON_PLUGIN_DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon)
endif()
if(WIN32)
  set(TENON_LIBRARY_PREFIX "")
  set(TENON_PLUGIN_FOLDER ${PROJECT_BINARY_DIR}/bin/tenon)
  if(TENON_INSTALL)
    set(TENON_PLUGIN_DESTINATION ${CMAKE_INSTALL_BINDIR}/tenon)
  endif()
endif()

# tenon_module(TARGET NAME SOURCE...): module libtenon-NAME.so that exports only
# tenon_backend_entry. It has its own table of tensor formats.
function(tenon_module target name)
  set(kind MODULE)
  if(APPLE)  # modules would be bundles, which zig does not link
    set(kind SHARED)
  endif()
  add_library(${target} ${kind} ${ARGN} $<TARGET_OBJECTS:tenon_room_quant>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/capi/include)
  target_link_libraries(${target} PRIVATE tenon_flags)
  if(WIN32)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/plugin.def)
    target_compile_options(${target} PRIVATE -Wno-attributes)  # files have no visibility
  else()
    tenon_exports(${target} ${PROJECT_SOURCE_DIR}/cmake/plugin.map tenon_backend_entry)
    if(NOT TENON_SANITIZE AND NOT APPLE)  # a sanitizer's symbols come from the program that loads the module
      target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "${TENON_LIBRARY_PREFIX}" OUTPUT_NAME "tenon-${name}")
endfunction()

# tenon_plugin(NAME [FOR_TESTS]): plugin from the objects of src/backends/NAME and
# src/backends/NAME/plugin/plugin.cpp. It does not link the library. A plugin FOR_TESTS has the name
# of a built-in backend, which refuses it: it is not installed, and not put in the plugin folder.
function(tenon_plugin name)
  tenon_module(tenon_plugin_${name} ${name}
               ${PROJECT_SOURCE_DIR}/src/backends/${name}/plugin/plugin.cpp
               $<TARGET_OBJECTS:tenon_room_backends_${name}>)
  target_link_libraries(tenon_plugin_${name} PRIVATE tenon_fmt ${TENON_USES_backends_${name}})
  if("FOR_TESTS" IN_LIST ARGN)
    set_target_properties(tenon_plugin_${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/plugins)
    return()
  endif()
  set_target_properties(tenon_plugin_${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${TENON_PLUGIN_FOLDER})
  set_property(GLOBAL APPEND PROPERTY TENON_INSTALLED_PLUGINS ${name})
  if(TENON_INSTALL)
    install(TARGETS tenon_plugin_${name} LIBRARY DESTINATION ${TENON_PLUGIN_DESTINATION}
            COMPONENT plugins)
  endif()
endfunction()

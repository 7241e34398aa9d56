# tenon_exports(TARGET SCRIPT PATTERN): a shared library or plugin exports only what the version
# script SCRIPT names; on macOS, which has no such scripts, the functions of PATTERN. On Windows the
# targets have .def files instead.
function(tenon_exports target script pattern)
  if(APPLE)
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.exports)
    file(CONFIGURE OUTPUT ${list} CONTENT "_${pattern}\n")
    target_link_options(${target} PRIVATE LINKER:-exported_symbols_list,${list} LINKER:-dead_strip)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${list})
    if(TENON_ZIG)
      # It does not take versions as CMake gives them.
      target_link_options(${target} PRIVATE
        LINKER:-compatibility_version,${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}.0
        LINKER:-current_version,${PROJECT_VERSION})
      # Its C++ library is linked in, and exports these operators whatever the list says.
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/operator_new.cpp)
      set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/operator_new.cpp
        TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS -fvisibility-global-new-delete=force-hidden)
    endif()
    return()
  endif()
  target_link_options(${target} PRIVATE LINKER:--version-script=${script} ${TENON_HIDE_ARCHIVES})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${script})
endfunction()

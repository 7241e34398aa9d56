# Common part of the toolchain files for macOS by zig (zig.cmake), whose linker writes what macOS
# loads, with an ad hoc signature for aarch64. The including file sets
#   CMAKE_SYSTEM_PROCESSOR  arm64 or x86_64, as CMake names it on a Mac
# TENON_MACOS_VERSION is the oldest macOS that the files run on.
set(CMAKE_SYSTEM_NAME Darwin)
set(TENON_MACOS_VERSION 11.0)
set(tenon_zig_processor ${CMAKE_SYSTEM_PROCESSOR})
if(tenon_zig_processor STREQUAL "arm64")
  set(tenon_zig_processor aarch64)
endif()
set(TENON_ZIG_TARGET ${tenon_zig_processor}-macos.${TENON_MACOS_VERSION})
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)

# No SDK: zig has its own. Search paths are written once, by the linker, since a change of a file
# would make its signature invalid; so nothing is edited or stripped afterwards.
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
set(CMAKE_INSTALL_NAME_DIR @rpath)
set(CMAKE_AR ${TENON_ZIG_SCRIPTS}/ar)
set(CMAKE_RANLIB ${TENON_ZIG_SCRIPTS}/ranlib)
foreach(tool STRIP INSTALL_NAME_TOOL)
  set(CMAKE_${tool} ${CMAKE_COMMAND} CACHE FILEPATH "Not used")
endforeach()

# Common part of the toolchain files for Linux by zig (zig.cmake). The including file sets
#   TENON_ZIG_TARGET        x86_64-linux-gnu.2.28
#   CMAKE_SYSTEM_PROCESSOR  as CMake names it
set(CMAKE_SYSTEM_NAME Linux)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)

# Binary tools are Debian's, of the target's processor.
set(tenon_tools "")
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL CMAKE_SYSTEM_PROCESSOR)
  set(tenon_tools ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-)
endif()
foreach(tool ar ranlib strip nm objcopy objdump readelf)
  string(TOUPPER ${tool} variable)
  find_program(tenon_tool_${tool} ${tenon_tools}${tool} REQUIRED NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
  set(CMAKE_${variable} ${tenon_tool_${tool}})
endforeach()
find_program(TENON_GNU_LINKER ${tenon_tools}ld.bfd REQUIRED NO_CMAKE_FIND_ROOT_PATH)

# Common part of the toolchain files that cross-compile by zig, a C++ compiler with the headers and
# C++ libraries of each target inside (PyPI: ziglang). Sets CMAKE_C_COMPILER and CMAKE_CXX_COMPILER
# to two small scripts in the build folder. The including file sets
#   TENON_ZIG_TARGET        as zig's -target takes it: x86_64-linux-gnu.2.28
#   CMAKE_SYSTEM_PROCESSOR  as CMake names it
# TENON_ZIG names the program zig; it is looked for in the PATH, and as python3's package ziglang.
set(CMAKE_SYSTEM_NAME Linux)
set(TENON_ZIG "" CACHE FILEPATH "The program zig, which cross-compiles (PyPI: ziglang)")
if(NOT TENON_ZIG)
  find_program(tenon_found_zig zig NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
  if(NOT tenon_found_zig)
    execute_process(COMMAND python3 -c "import ziglang, os; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))"
                    OUTPUT_VARIABLE tenon_found_zig OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT tenon_found_zig)
    message(FATAL_ERROR "There is no zig: install the package ziglang of PyPI, or name it by TENON_ZIG.")
  endif()
  set(TENON_ZIG ${tenon_found_zig} CACHE FILEPATH "The program zig, which cross-compiles (PyPI: ziglang)" FORCE)
endif()

# CMake reads this file again for each check of the compiler, in a folder of its own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_ZIG TENON_ZIG_SCRIPTS)
if(NOT TENON_ZIG_SCRIPTS)
  set(TENON_ZIG_SCRIPTS ${CMAKE_BINARY_DIR}/zig)
  foreach(language cc c++)
    file(CONFIGURE OUTPUT ${TENON_ZIG_SCRIPTS}/${language} @ONLY CONTENT
         "#!/bin/sh\nexec '@TENON_ZIG@' @language@ -target @TENON_ZIG_TARGET@ \"$@\"\n")
    file(CHMOD ${TENON_ZIG_SCRIPTS}/${language} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
         GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
endif()
set(CMAKE_C_COMPILER ${TENON_ZIG_SCRIPTS}/cc)
set(CMAKE_CXX_COMPILER ${TENON_ZIG_SCRIPTS}/c++)

# zig adds debug information if it is not told otherwise.
set(CMAKE_C_FLAGS_RELEASE_INIT -g0)
set(CMAKE_CXX_FLAGS_RELEASE_INIT -g0)

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

# Nothing of the building machine is linked.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/no_root)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

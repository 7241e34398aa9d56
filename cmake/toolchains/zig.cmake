# Common part of the toolchain files that cross-compile by zig, a C++ compiler with the headers and
# C++ libraries of each target inside (PyPI: ziglang). Sets CMAKE_C_COMPILER and CMAKE_CXX_COMPILER
# to small scripts in the build folder. zig_linux.cmake and zig_macos.cmake include it, after
#   TENON_ZIG_TARGET        as zig's -target takes it: x86_64-linux-gnu.2.28
# TENON_ZIG names the program zig; it is looked for in the PATH, and as python3's package ziglang.
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
  foreach(tool cc c++ ar ranlib)
    set(of_target "")
    if(tool MATCHES "^c")
      set(of_target "-target ${TENON_ZIG_TARGET} ")
    endif()
    file(CONFIGURE OUTPUT ${TENON_ZIG_SCRIPTS}/${tool} @ONLY CONTENT
         "#!/bin/sh\nexec '@TENON_ZIG@' @tool@ @of_target@\"$@\"\n")
    file(CHMOD ${TENON_ZIG_SCRIPTS}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
         GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
endif()
set(CMAKE_C_COMPILER ${TENON_ZIG_SCRIPTS}/cc)
set(CMAKE_CXX_COMPILER ${TENON_ZIG_SCRIPTS}/c++)

# zig adds debug information if it is not told otherwise.
set(CMAKE_C_FLAGS_RELEASE_INIT -g0)
set(CMAKE_CXX_FLAGS_RELEASE_INIT -g0)

# Nothing of the building machine is linked.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/no_root)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

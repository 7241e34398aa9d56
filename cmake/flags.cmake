# Compiler flags that every target of this project shares: `tenon_flags`. All settings apply to this
# project's folders only, and not to a program that includes the sources.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# TENON_UNITY enables unity builds per room; kernels are compiled for one instruction set each.
set(CMAKE_UNITY_BUILD OFF)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

add_library(tenon_flags INTERFACE)
# Disable contraction: a*b+c is rounded once only if the source says fma, so that every kernel
# variant and every compiler gives equal bits (docs/inside/architecture.md, "Same request, same
# answer").
target_compile_options(tenon_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off)
if(WIN32)
  # %llu and %zu as C++ has them, and no DLL of the compiler.
  target_compile_definitions(tenon_flags INTERFACE __USE_MINGW_ANSI_STDIO=1)
  target_link_options(tenon_flags INTERFACE -static)
endif()
# Override the flags of a program that includes the sources.
target_compile_options(tenon_flags INTERFACE -fno-fast-math -fexceptions
                       $<$<COMPILE_LANGUAGE:CXX>:-frtti>)
if(TENON_WERROR)
  target_compile_options(tenon_flags INTERFACE -Werror)
endif()
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all
                         # Checks in the tests' own code double its compile time.
                         $<$<BOOL:$<TARGET_PROPERTY:TENON_TEST_CODE>>:-fno-sanitize=undefined>
                         # Eigen adds offsets to the null pointers of empty matrices without
                         # reading.
                         $<$<BOOL:$<TARGET_PROPERTY:TENON_USES_EIGEN>>:-fno-sanitize=pointer-overflow>)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
include(hardening)
option(TENON_HARDENING "Pass the flags of cmake/hardening.cmake in release builds" ON)
if(TENON_HARDENING)
  target_link_libraries(tenon_flags INTERFACE $<$<CONFIG:Release,MinSizeRel>:tenon_hardening>)
endif()
# Names of archives stay inside libraries. zig's linker lacks the flag; there the version scripts alone
# hide them.
set(TENON_HIDE_ARCHIVES LINKER:--exclude-libs,ALL)
if(TENON_ZIG)
  set(TENON_HIDE_ARCHIVES "")
  if(APPLE)
    # Stripped while linked, as signatures are of whole files; else they name zig's archives by path.
    target_link_options(tenon_flags INTERFACE -s)
    # CMake knows the flag of search paths only on a Mac.
    foreach(kind SHARED_LIBRARY EXECUTABLE)
      set(CMAKE_${kind}_RUNTIME_C_FLAG "-Wl,-rpath,")
      set(CMAKE_${kind}_RUNTIME_CXX_FLAG "-Wl,-rpath,")
    endforeach()
  endif()
endif()
find_package(Threads REQUIRED)
target_link_libraries(tenon_flags INTERFACE Threads::Threads)

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_C_COMPILER_LAUNCHER ${TENON_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TENON_CCACHE})
endif()

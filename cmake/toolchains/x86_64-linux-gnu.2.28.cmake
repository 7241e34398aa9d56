# Toolchain file: x86-64 Linux with glibc 2.28 or newer, by zig (zig_linux.cmake).
set(TENON_ZIG_TARGET x86_64-linux-gnu.2.28)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/zig_linux.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR env)

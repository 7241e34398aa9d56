# Toolchain file: macOS 11 or newer on Macs with Intel processors, by zig (zig_macos.cmake).
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/zig_macos.cmake)

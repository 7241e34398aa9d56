# Toolchain file: aarch64 Linux with glibc 2.28 or newer, by zig (zig_linux.cmake); programs run under
# qemu-user, with Debian's libc6-arm64-cross.
set(TENON_ZIG_TARGET aarch64-linux-gnu.2.28)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/zig_linux.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Refuses unsupported systems with one sentence each, before anything is compiled. Also runs as a
# script with the variables below set: cmake -DCMAKE_SYSTEM_NAME=... -P
# cmake/supported_systems.cmake
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  message(FATAL_ERROR
          "Tenon needs a 64-bit system: a pointer has ${CMAKE_SIZEOF_VOID_P} bytes here.")
endif()
# Empty for universal binaries, whose processors are little-endian.
if(CMAKE_CXX_BYTE_ORDER STREQUAL "BIG_ENDIAN")
  message(FATAL_ERROR "Tenon needs a little-endian system: model files and kernels are.")
endif()
if(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Windows|Darwin)$")
  message(FATAL_ERROR "Tenon runs on Linux, Windows and macOS; it knows no system "
                      "\"${CMAKE_SYSTEM_NAME}\".")
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Windows" AND CMAKE_CXX_COMPILER_ID STREQUAL "MSVC")
  message(FATAL_ERROR "Tenon is built for Windows by g++ of mingw-w64; programs of Visual C++ link "
                      "its import library (docs/packaging.md).")
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Windows" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  message(FATAL_ERROR "Tenon runs on Windows only on x86-64.")
endif()
# rooms.cmake chooses the kernels of one processor.
list(LENGTH CMAKE_OSX_ARCHITECTURES tenon_num_architectures)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin" AND tenon_num_architectures GREATER 1)
  message(FATAL_ERROR "Tenon is built for one processor at a time: build for arm64 and for x86_64, and "
                      "join the files (cmake/packaging/universal.py).")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$")
  message(FATAL_ERROR "Tenon runs on x86-64 and aarch64; it has no kernels for the processor "
                      "\"${CMAKE_SYSTEM_PROCESSOR}\".")
endif()

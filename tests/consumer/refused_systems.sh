#!/usr/bin/env bash
# Checks that each unsupported system is refused with one sentence, before anything is compiled.
#   usage: refused_systems.sh CMAKE
set -euo pipefail
cmake=$1
root=$(cd "$(dirname "$0")/../.." && pwd)

# Variables of a supported machine; later arguments win.
verdict() {  # verdict SENTENCE|"" DEFINITION...
  local expected=$1 output
  shift
  output=$("$cmake" -DCMAKE_SIZEOF_VOID_P=8 -DCMAKE_CXX_BYTE_ORDER=LITTLE_ENDIAN \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 "$@" \
    -P "$root/cmake/supported_systems.cmake" 2>&1 | tr -s ' \n' ' ') || true
  case $expected:$output in
    :) ;;
    :*) echo "FAILED: $* is refused: $output"; exit 1 ;;
    *) [[ $output == *"$expected"* ]] || { echo "FAILED: $*: '$output', not '$expected'"; exit 1; } ;;
  esac
  echo "ok: ${*:-x86-64} -> ${expected:-accepted}"
}

verdict ""
verdict "" -DCMAKE_SYSTEM_PROCESSOR=aarch64
verdict "needs a 64-bit system: a pointer has 4 bytes here" -DCMAKE_SIZEOF_VOID_P=4
verdict "needs a little-endian system" -DCMAKE_CXX_BYTE_ORDER=BIG_ENDIAN
verdict 'knows no system "FreeBSD"' -DCMAKE_SYSTEM_NAME=FreeBSD
verdict "" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64
verdict "runs on Windows only on x86-64" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=ARM64
verdict "by g++ of mingw-w64" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_CXX_COMPILER_ID=MSVC
verdict "" -DCMAKE_SYSTEM_NAME=Darwin -DCMAKE_SYSTEM_PROCESSOR=arm64
verdict "for one processor at a time" -DCMAKE_SYSTEM_NAME=Darwin "-DCMAKE_OSX_ARCHITECTURES=arm64;x86_64"
verdict 'no kernels for the processor "riscv64"' -DCMAKE_SYSTEM_PROCESSOR=riscv64
grep -q 'include(supported_systems)' "$root/CMakeLists.txt"

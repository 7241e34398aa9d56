#!/usr/bin/env bash
# Checks that every C++ header refuses an older C++, and programs without exceptions, in one
# sentence; tenon.h serves both.
#   usage: refused_compilers.sh CC CXX
set -euo pipefail
cc=$1 cxx=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
include=(-I "$root/include" -I "$root/capi/include")

refused() {  # refused SENTENCE FLAG...
  local header output errors
  for header in "$root"/include/tenon/*.hpp; do
    output=$(echo "#include <tenon/$(basename "$header")>" |
      "$cxx" -x c++ "${@:2}" "${include[@]}" -fsyntax-only - 2>&1) \
      && { echo "FAILED: $header compiles with ${*:2}"; exit 1; }
    errors=$(grep 'error:' <<< "$output")
    # The sentence, and the include at which the compiler stops.
    if [ "$(wc -l <<< "$errors")" -gt 2 ] || ! head -n 1 <<< "$errors" | grep -q "$1"; then
      echo "FAILED: $header with ${*:2} says: $errors"
      exit 1
    fi
  done
  echo "ok: ${*:2} -> $1"
}

for standard in 11 14 17; do refused "tenon needs C++20" "-std=c++$standard"; done
refused "need exceptions" -std=c++20 -fno-exceptions

for standard in 11 14 17 20; do
  echo '#include <tenon/tenon.h>' | "$cxx" -x c++ "-std=c++$standard" -fno-exceptions -fno-rtti \
    -Wall -Wextra -Wpedantic -Werror "${include[@]}" -fsyntax-only -
done
echo '#include <tenon/tenon.h>' | "$cc" -x c -std=c99 -Wall -Wextra -Werror "${include[@]}" -fsyntax-only -
echo "ok: tenon.h in C99 and in C++11 to C++20 without exceptions and run-time types"

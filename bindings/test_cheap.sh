#!/usr/bin/env bash
# Runs the small programs in LuaJIT, Ruby, PHP and C# that load a model, stream, embed, cancel and
# fail: over the library, and over an older and a newer one (other_minors.py, which needs python3
# and a C compiler).
#   bindings/test_cheap.sh [BUILD_FOLDER]   default: build-dev
# Programs without an installed interpreter are named and left out; status 77 if all are. Debian:
# luajit, ruby, php-cli, mono-mcs and mono-runtime.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "${1:-$here/../build-dev}")
model=$here/../examples/models/demo-q8_0.gguf
library=$build/lib/libtenon.so
[ -e "$library" ] || { echo "SKIPPED: $build holds no library"; exit 77; }
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
expected=" there was a lonely owl named Omar.
256 numbers, likeness 1.000 and less
CANCELLED after 3 pieces
thrown by the program
ARGUMENT: session: cannot rewind to 1000, there are 16 tokens"
ran=0 failed=0

try() {  # try NAME COMMAND...
  local came
  ran=$((ran + 1))
  # Mono prints on stdout that it does not know the scheduling policy of a process at idle priority.
  if came=$("${@:2}" 2>&1) && came=$(sed '/^mono_thread_internal_set_priority/d' <<< "$came") &&
    [ "$came" = "$expected" ]; then
    echo "$1: passed"
  else
    echo "$1: FAILED"
    echo "$came"
    failed=$((failed + 1))
  fi
}
has() {  # has NAME COMMAND...
  if "${@:2}" > /dev/null 2>&1; then return; fi
  echo "$1: left out, it is not installed"
  return 1
}

folders=("$build/lib")
if command -v python3 > /dev/null && command -v cc > /dev/null; then
  python3 "$here/other_minors.py" "$library" "$programs/minors"
  folders+=("$programs/minors/older" "$programs/minors/newer")
else
  echo "older and newer libraries: left out, there is no python3 or no C compiler"
fi
over() {  # over NAME COMMAND...: with each library; its folder replaces LIBRARIES in the command
  local folder name=$1
  shift
  for folder in "${folders[@]}"; do
    try "$name$([ "$folder" = "$build/lib" ] || echo ", $(basename "$folder") library")" "${@//LIBRARIES/$folder}"
  done
}
if has LuaJIT luajit -e 'require("ffi")'; then over LuaJIT luajit "$here/luajit/tenon.lua" LIBRARIES/libtenon.so "$model"; fi
if has Ruby ruby -r fiddle -r json -e 0; then over Ruby ruby "$here/ruby/tenon.rb" LIBRARIES/libtenon.so "$model"; fi
if has PHP php -r 'FFI::cdef("int abs(int);");'; then over PHP php "$here/php/tenon.php" LIBRARIES/libtenon.so "$model"; fi
if has C# mcs --version && has C# mono --version; then
  mcs -out:"$programs/Tenon.exe" "$here/csharp/Tenon.cs"
  over C# env LD_LIBRARY_PATH=LIBRARIES mono "$programs/Tenon.exe" "$model"
fi
[ "$ran" -gt 0 ] || { echo "SKIPPED: none of the interpreters is installed"; exit 77; }
exit $((failed > 0))

#!/usr/bin/env bash
# Cross-builds the library, the program and tests for Windows x86-64 by mingw-w64, and runs them
# under wine: tests/windows.sh [--most]. --most also builds and runs the conformance suite and the
# tests of rooms, which takes twice as long. Ends with status 77 if the tools cannot be installed. Logits are compared with those
# of build-dev/bin/tenon, if it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$PWD/build-windows
most=false
[ "${1:-}" != --most ] || most=true

if ! bash cmake/install_packages.sh g++-mingw-w64-x86-64-posix wine wine64 cmake ninja-build \
  googletest libfmt-dev libeigen3-dev libxxhash-dev nlohmann-json3-dev libcli11-dev dpkg-dev; then
  echo "Windows is left out: mingw-w64 and wine cannot be installed"
  exit 77
fi
sources=${TENON_SOURCE_PACKAGES:-${XDG_CACHE_HOME:-$HOME/.cache}/tenon/sources}
if ! bash cmake/toolchains/fetch_sources.sh "$sources"; then
  echo "Windows is left out: the sources of utf8proc cannot be fetched"
  exit 77
fi

targets=(tenon_shared tenon_program test_capi)
if $most; then
  targets+=(tenon_plugin_reference test_conformance test_base test_file test_text test_text_grammar test_sampler test_backend)
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/x86_64-w64-mingw32.cmake" \
  -DTENON_SOURCE_PACKAGES="$sources" -DCMAKE_BUILD_TYPE=Release -DTENON_UNITY=ON \
  -DTENON_TESTS=ON -DTENON_INSTALL=ON ${TENON_CMAKE_ARGUMENTS:-} > "$build.log" 2>&1 || {
  cat "$build.log"
  exit 1
}
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${targets[@]}"

# A Windows of its own, without windows on the screen and without messages about missing drivers.
export WINEPREFIX=$build/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe=" DISPLAY=
mkdir -p "$WINEPREFIX"
trap 'wineserver -k 2> /dev/null || true' EXIT
failed=0
check() {  # check NAME COMMAND...
  local log status=0
  log=$(mktemp)
  "${@:2}" > "$log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    echo "passed: $1"
  else
    tail -n 60 "$log"
    echo "FAILED: $1 (status $status)"
    failed=$((failed + 1))
  fi
  rm -f "$log"
}
in_wine() { timeout 300 wine "$@"; }
tenon=(in_wine "$build/bin/tenon.exe")
rm -f "$build"/*.bin "$build"/ü*/*.bin  # of earlier runs
model=examples/models/demo-q8_0.gguf

# Files: DLL and programs need nothing but what Windows has.
needs_only_windows() {
  local needed
  needed=$(x86_64-w64-mingw32-objdump -p "$1" | sed -n 's/^\tDLL Name: //p' |
           grep -v -i -E '^(kernel32|msvcrt|bcrypt|shell32|advapi32|user32|tenon|api-ms-win-core-synch-l1-2-0)\.dll$' || true)
  [ -z "$needed" ] || { echo "needs $needed"; return 1; }
}
for file in bin/tenon.dll bin/tenon.exe; do
  check "$file needs system libraries only" needs_only_windows "$build/$file"
done
exports_the_interface() {
  diff <(sort tests/abi/symbols.txt) \
       <(x86_64-w64-mingw32-objdump -p "$build/bin/tenon.dll" |
         sed -n '/\[Ordinal\/Name Pointer\]/,/^$/s/^\t\[ *[0-9]*\] \(+base\[ *[0-9]*\] *[0-9a-f]* \)\{0,1\}//p' | sort)
}
check "tenon.dll exports the interface" exports_the_interface

# Visual C++'s ABI, where clang and lld are: its own object format, and no C run time.
lld=$(command -v lld-link || command -v lld-link-14 || true)
if [ -n "$lld" ] && command -v clang > /dev/null; then
  clang --target=x86_64-pc-windows-msvc -ffreestanding -Icapi/include \
    -isystem /usr/share/mingw-w64/include -c tests/consumer/windows/without_runtime.c \
    -o "$build/without_runtime.obj"
  check "linking tenon.lib by lld-link" "$lld" /entry:entry /subsystem:console /nodefaultlib \
    "$build/without_runtime.obj" "$build/lib/tenon.lib" \
    /usr/x86_64-w64-mingw32/lib/libkernel32.a "/out:$build/bin/without_runtime.exe"
  check "its program" in_wine "$build/bin/without_runtime.exe"
fi

# The program: UTF-8 in words and paths, long paths, bytes on standard output.
folder=$build/ünï-日本
long=$folder/$(printf 'a%.0s' {1..120})/$(printf 'b%.0s' {1..120})
mkdir -p "$long"
cp "$model" "$folder/mödel.gguf"
cp "$model" "$long/model.gguf"
ids=$build/ids.txt
seq 5 44 > "$ids"
logits() {  # logits ISA MODEL OUTPUT: of the program under wine
  "${tenon[@]}" logits "$2" --tokens-file "$ids" --isa "$1" --output "$3"
}
check "tenon --version" "${tenon[@]}" --version
for isa in portable avx2; do
  check "logits by $isa" logits "$isa" "$model" "$build/$isa.bin"
done
check "a path with other letters" logits portable "Z:$folder/mödel.gguf" "$folder/ausgabe-ß.bin"
check "its logits" cmp "$build/portable.bin" "$folder/ausgabe-ß.bin"
check "a path of more than 260 characters" logits portable "Z:$long/model.gguf" "$build/long.bin"
if [ -x build-dev/bin/tenon ]; then
  for isa in portable avx2; do
    build-dev/bin/tenon logits "$model" --tokens-file "$ids" --isa "$isa" --output "$build/linux.bin"
    check "the same bits as on Linux by $isa" cmp "$build/linux.bin" "$build/$isa.bin"
  done
fi
check "text by a pipe" bash -c "printf 'Once upon a time' | wine '$build/bin/tenon.exe' run $model --max-tokens 8 --seed 1 | grep -q ."
is_refused() { { "${tenon[@]}" inspect "$1" 2>&1 || true; } | grep "$2"; }  # is_refused MODEL WORDS
head -c 5000 "$model" > "$build/broken.gguf"
check "a truncated model is refused" is_refused "$build/broken.gguf" 'cut short'
check "a missing model is refused" is_refused 'Z:\nowhere\ünï.gguf' 'ünï.gguf: cannot open: no such file'

# Tests of time are Linux's: wine's clocks and locks are not what they measure.
check "test_capi" in_wine "$build/bin/test_capi.exe" --gtest_filter='-LinearTime.*'
if $most; then
  fast='-SameBitsOfALongSequence.*:Models/*:Model.*:Select*:*LongPasts*'
  check "conformance by avx2" in_wine "$build/bin/test_conformance.exe" --backend cpu --isa avx2 \
    --gtest_filter="$fast"
  for name in base file text text_grammar sampler backend; do
    check "test_$name" in_wine "$build/bin/test_$name.exe"
  done
fi
[ "$failed" -eq 0 ] || { echo "$failed checks failed under wine"; exit 1; }
echo "All checks passed under wine"

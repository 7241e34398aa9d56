#!/usr/bin/env bash
# Unpacks an archive of a release into an empty folder and uses it there as its users do: the program,
# and programs in C and C++ that find it by pkg-config and by CMake, shared and static, on the demo
# model. Files for aarch64 run under qemu-user, those for musl by Debian's musl.
#   usage: check.sh ARCHIVE WORK_FOLDER [TENON]
# TENON is the program of another build of the sources: answers must be its, and logits its bits.
# ZIG names the cross compiler that links the programs (cmake/toolchains/install_zig.sh).
set -euo pipefail
archive=$(realpath "$1") work=$(realpath -m "$2") tenon=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
model=$root/examples/models/demo-q8_0.gguf
fail() { echo "FAILED: $*"; exit 1; }
passed() { echo "ok: $*"; }

name=$(basename "$archive" .tar.gz)
target=$(sed -E 's/^tenon-[0-9.]+-//' <<< "$name")
case $target in
  x86_64-*) run=() ;;
  aarch64-*) run=(qemu-aarch64 -L /usr/aarch64-linux-gnu) ;;
  *) fail "$name is of no known target" ;;
esac
rm -rf "$work"
mkdir -p "$work/moved"
tar -xzf "$archive" -C "$work/moved"
prefix=$work/moved/$name
unset LD_LIBRARY_PATH

python3 "$here/files.py" "$prefix" "$target" "$root" "$HOME/" "$(dirname "$(dirname "$archive")")"
passed "what the files need and say"

program=("${run[@]}" "$prefix/bin/tenon")
"${program[@]}" --version > "$work/version"
grep -q . "$work/version" || fail "tenon --version prints nothing"
ask() { "$@" run "$model" "What is the capital of Norway?" --seed 7 --max-tokens 24 --threads 1; }
ask "${program[@]}" > "$work/answer"
grep -q Oslo "$work/answer" || fail "tenon answers $(cat "$work/answer")"
passed "tenon answers: $(head -c 60 "$work/answer")"
"${program[@]}" backends > "$work/backends"
grep -q vulkan "$work/backends" || fail "the plugin vulkan is not listed: $(cat "$work/backends")"

if [ -n "$tenon" ]; then
  ask "$tenon" | cmp - "$work/answer" || fail "$tenon answers otherwise"
  echo "1 17 256 99 3 42 1000 7 8 9 512 77 5" > "$work/tokens"
  # logits FILE KERNELS COMMAND...
  logits() { "${@:3}" logits "$model" --tokens-file "$work/tokens" --threads 1 --backend-option "isa=$2" --output "$1" > /dev/null; }
  kernels=(portable)
  case $target in
    aarch64-*) kernels+=(neon neon_i8mm) ;;
    *) ! grep -qw avx2 /proc/cpuinfo || kernels+=(avx2)
       ! grep -qw avx512_vnni /proc/cpuinfo || kernels+=(avx512) ;;
  esac
  # All kernels but the portable ones give equal bits; avx2 stands for those of another processor.
  for set in "${kernels[@]}"; do
    other=$set
    [[ $set != neon* ]] || other=avx2
    logits "$work/logits" "$set" "${program[@]}"
    logits "$work/logits.other" "$other" "$tenon"
    cmp "$work/logits" "$work/logits.other" || fail "logits of the $set kernels are not those of $tenon, $other kernels"
    passed "$(stat -c %s "$work/logits") bytes of logits as those of the other build: $set kernels"
  done
fi

# Users' own programs.
if [ -n "${ZIG:-}" ]; then
  for language in cc c++; do
    printf '#!/bin/sh\nexec "%s" %s -target %s "$@"\n' "$ZIG" "$language" "$target" > "$work/$language"
    chmod +x "$work/$language"
  done
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  answers() {  # answers NAME PROGRAM
    local said
    said=$("${run[@]}" "$2" "$model") || fail "$1 ends with $?"
    [[ $said == *Oslo* ]] || fail "$1 answers $said"
    passed "$1"
  }
  # shellcheck disable=SC2046
  "$work/cc" -std=c11 "$root/tests/consumer/c/main.c" -o "$work/c_shared" $(pkg-config --cflags --libs tenon) \
    -Wl,-rpath,"$prefix/lib"
  answers "a C program, the shared library" "$work/c_shared"
  # libtenon.a brings its C++ library along, so a C compiler links it.
  # shellcheck disable=SC2046
  "$work/cc" -std=c11 "$root/tests/consumer/c/main.c" -o "$work/c_static" \
    $(pkg-config --cflags --libs --static tenon-static | sed "s#-l:libtenon.a#$prefix/lib/libtenon.a#")
  answers "a C program, the static library" "$work/c_static"
  # shellcheck disable=SC2046
  "$work/c++" -std=c++20 "$root/tests/consumer/cpp/main.cpp" -o "$work/cpp_static" \
    $(pkg-config --cflags --libs --static tenon-static | sed "s#-l:libtenon.a#$prefix/lib/libtenon.a#")
  answers "a C++ program, the static library" "$work/cpp_static"
  if [[ $target == *-musl ]]; then
    # shellcheck disable=SC2046
    "$work/cc" -static -std=c11 "$root/tests/consumer/c/main.c" -o "$work/c_alone" \
      $(pkg-config --cflags --libs --static tenon-static | sed "s#-l:libtenon.a#$prefix/lib/libtenon.a#")
    ! readelf -l "$work/c_alone" | grep -q interpreter || fail "the static program needs a loader"
    answers "a C program without any shared library" "$work/c_alone"
  fi
fi

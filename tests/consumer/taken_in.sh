#!/usr/bin/env bash
# Includes Tenon's sources in another project: the project does not change, only linked parts of
# Tenon are built or installed, and the project's flags do not reach the library.
#   usage: taken_in.sh WORK_DIR CC CXX CMAKE
set -euo pipefail
work=$1 cc=$2 cxx=$3 cmake=$4
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rm -rf "$work"

fail() { echo "FAILED: $how: $*"; exit 1; }

# Prints the flags of the compile commands of files whose path matches $1, one command per line.
commands_of() { grep '"command"' "$build/compile_commands.json" | grep -- "$1"; }

for how in add_subdirectory FetchContent; do
  build=$work/$how
  mkdir -p "$build"
  "$cmake" -S "$here/parent" -B "$build" -G Ninja -DHOW=$how -DTENON_SOURCE="$root" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" > "$build.log" 2>&1 \
    || { cat "$build.log"; fail "does not configure"; }
  ! grep -q 'CMAKE_BUILD_TYPE:[A-Z]*=.' "$build/CMakeCache.txt" || fail "the parent has a build type now"

  # Each room has the flags of the library alone: standard, optimised, no flag of the parent's.
  [ "$(commands_of 'tenon_room_engine\.dir' | wc -l)" -gt 0 ] || fail "no compile commands of the engine"
  while IFS= read -r command; do
    [[ $command == *-O3* && $command == *-std=c++20* ]] || fail "not Release, not C++20: $command"
    [[ $command == *-ffast-math*-fno-fast-math* && $command == *-fno-exceptions*-fexceptions* ]] \
      || fail "flags of the parent: $command"
    [[ $command == *-fstack-protector-strong*-D_FORTIFY_SOURCE=2* ]] || fail "not hardened: $command"
    [[ $command != *-flto* ]] || fail "link-time optimisation of the parent: $command"
  done < <(commands_of 'tenon_room_engine\.dir')
  own=$(commands_of 'plain\.dir' | head -n 1)
  [[ -n $own && $own != *-std=c++20* && $own != *-O3* && $own != *-fvisibility* ]] \
    || fail "the parent's own program: $own"
  [[ $(commands_of 'modern\.dir') == *-std=*20* ]] || fail "tenon_cpp gives no C++20"

  # Targets that would be built: none of Tenon for `all`, none of the static library for a user of
  # the shared one.
  builds() {  # builds TARGET yes|no PATTERN
    local plan found=no
    plan=$(ninja -C "$build" -t commands "$1")
    if grep -q "$3" <<< "$plan"; then found=yes; fi
    [ "$found" = "$2" ] || fail "whether $1 builds $3: $found"
  }
  builds all no 'tenon_room\|libtenon'
  builds plain yes 'libtenon\.so\.'
  builds plain no 'libtenon\.a\|libtenon-'
  builds embedder yes 'libtenon\.a'
  # Unity builds: the parent compiles a fifth of the files.
  compiled=$(ninja -C "$build" -t commands plain | grep -c ' -c ')
  [ "$compiled" -le 60 ] || fail "a program that links the library compiles $compiled files"

  ninja -C "$build" > "$build.log" 2>&1 || { cat "$build.log"; fail "does not build"; }
  [ -x "$build/mine/untouched" ] || fail "programs of the parent lie elsewhere"
  "$cmake" --install "$build" --prefix "$work/installed" > "$build.log"
  ! find "$work/installed" -iname '*tenon*' | grep . || fail "installs the above"
  echo "ok: $how"
done

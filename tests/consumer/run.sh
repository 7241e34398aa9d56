#!/usr/bin/env bash
# Links the installed package as strangers do: a C11 and a C++20 program, through CMake and through
# pkg-config, shared and static, each run on the demo model. The installed tree is moved first, so
# nothing in it may hold its prefix.
#   usage: run.sh BUILD_DIR WORK_DIR CC CXX
set -euo pipefail
build=$1 work=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../examples/models/demo-q8_0.gguf

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" > "$work/install.log"
prefix=$work/moved/prefix
mkdir -p "$work/moved"
mv "$work/first" "$prefix"
pc=$(find "$prefix" -name tenon.pc)
library_dir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$library_dir/pkgconfig
unset LD_LIBRARY_PATH

if grep -rIl "$work/first" "$prefix" | grep .; then
  echo "the files above hold the prefix they were installed to"
  exit 1
fi

runs=0
expect_answer() {  # expect_answer NAME PROGRAM...
  local name=$1 answer
  shift
  answer=$("$@" "$model")
  case $answer in
    *Oslo*) echo "ok: $name: $answer" ;;
    *) echo "FAILED: $name answered '$answer'"; exit 1 ;;
  esac
  runs=$((runs + 1))
}

# Whether PROGRAM needs libtenon.so must agree with the way it was linked.
expect_linkage() {  # expect_linkage shared|static PROGRAM
  local found=static
  if readelf -d "$2" | grep -q 'NEEDED.*libtenon\.so\.0\.1'; then found=shared; fi
  if [ "$found" != "$1" ]; then echo "FAILED: $2 is linked $found, not $1"; exit 1; fi
}

with_cmake() {  # with_cmake LANGUAGE shared|static TARGET [DEFINITION...]
  local dir=$work/cmake-$1-$2-${3##*:} language=$1 kind=$2 target=$3
  shift 3
  cmake -S "$here/$language" -B "$dir" -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="$kind" \
    -DLIBRARY="$target" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "$@" > "$dir.log" 2>&1 \
    || { cat "$dir.log"; exit 1; }
  cmake --build "$dir" >> "$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
  expect_linkage "$kind" "$dir/consumer"
  expect_answer "find_package, $language, $kind, $target" "$dir/consumer"
}

with_pkg_config() {  # with_pkg_config LANGUAGE shared|static COMPILER SOURCE FLAGS...
  local language=$1 kind=$2 program=$work/pkg-config-$1-$2 libs
  if [ "$kind" = shared ]; then
    libs=$(pkg-config --libs tenon)
  else
    libs=$(pkg-config --libs --static tenon | sed 's/-ltenon\b/-l:libtenon.a/')
  fi
  # The lists of flags are meant to be split into words.
  # shellcheck disable=SC2046,SC2086
  "$3" "${@:5}" "$here/$language/$4" -o "$program" $(pkg-config --cflags tenon) $libs \
    -Wl,-rpath,"$library_dir"
  expect_linkage "$kind" "$program"
  expect_answer "pkg-config, $language, $kind" "$program"
}

for kind in shared static; do
  target=tenon::tenon
  if [ "$kind" = static ]; then target=tenon::tenon_static; fi
  with_cmake c "$kind" "$target"
  with_cmake cpp "$kind" "$target"
  with_pkg_config c "$kind" "$cc" main.c -std=c11 -Wall -Wextra -Wpedantic -Werror
  with_pkg_config cpp "$kind" "$cxx" main.cpp -std=c++20 -Wall -Wextra -Wpedantic -Werror
done
with_cmake cpp static tenon::tenon -DTENON_STATIC=ON

# The moved program finds the moved library, and the plugin beside it.
if "$prefix/bin/tenon" backends > "$work/backends.txt"; then
  plugin=$(grep -o '/.*/libtenon-reference\.so' "$work/backends.txt" || true)
  if [ "$(realpath -m "$plugin")" != "$(realpath "$library_dir")/tenon/libtenon-reference.so" ]; then
    cat "$work/backends.txt"
    echo "FAILED: the installed plugin was not found"
    exit 1
  fi
else
  echo "FAILED: the installed program does not run"
  exit 1
fi
echo "$runs programs linked and run"

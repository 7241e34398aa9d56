#!/usr/bin/env bash
# Links the installed package as external programs do: a C11 and a C++20 program, through CMake,
# pkg-config and Meson, shared and static, with usual flags, each run on the demo model. The
# installed tree is moved first, so no file in it may contain its prefix.
#   usage: run.sh BUILD_DIR|ARCHIVE WORK_DIR CC CXX
# An archive is one of a release, tenon-*.tar.gz (docs/releasing.md).
set -euo pipefail
build=$1 work=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../examples/models/demo-q8_0.gguf

rm -rf "$work"
mkdir -p "$work"
if [ -f "$build" ]; then
  mkdir "$work/first"
  tar -xzf "$build" -C "$work/first" --strip-components=1
else
  cmake --install "$build" --prefix "$work/first" > "$work/install.log"
fi
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
expect_answer() {  # expect_answer NAME PROGRAM [ARGUMENT...]
  local name=$1 answer
  answer=$("$2" "$model" "${@:3}")
  case $answer in
    *Oslo*) echo "ok: $name: $answer" ;;
    *) echo "FAILED: $name answered '$answer'"; exit 1 ;;
  esac
  runs=$((runs + 1))
}

# Checks that PROGRAM needs libtenon.so if and only if it was linked shared.
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
  local language=$1 kind=$2 program=$work/pkg-config-$1-$2 libs flags
  if [ "$kind" = shared ]; then
    flags=$(pkg-config --cflags tenon)
    libs=$(pkg-config --libs tenon)
  else
    flags=$(pkg-config --cflags tenon-static)
    libs=$(pkg-config --libs --static tenon-static)
  fi
  # The lists of flags are meant to be split into words.
  # shellcheck disable=SC2086
  "$3" "${@:5}" "$here/$language/$4" -o "$program" $flags $libs \
    -Wl,-rpath,"$library_dir"
  expect_linkage "$kind" "$program"
  expect_answer "pkg-config, $language, $kind, ${*:5}" "$program"
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
# The project says C++17; tenon_cpp lifts what links it to C++20.
with_cmake cpp shared tenon::tenon_cpp -DCMAKE_CXX_STANDARD=17
with_cmake cpp static tenon::tenon_cpp -DCMAKE_CXX_STANDARD=17 -DTENON_STATIC=ON

# Usual flags. The C interface needs neither exceptions nor run-time types.
for kind in shared static; do
  with_pkg_config c "$kind" "$cxx" main.c -x c++ -std=c++20 -fno-exceptions -fno-rtti -Wall -Werror
  with_pkg_config cpp "$kind" "$cxx" main.cpp -std=c++20 -fno-rtti
  with_pkg_config cpp "$kind" "$cxx" main.cpp -std=c++23 -O2 -flto
  with_pkg_config cpp "$kind" "$cxx" main.cpp -std=c++20 -ffunction-sections -Wl,--gc-sections
done
# A program without any shared library, if the compiler's own exist as archives.
if [ -f "$("$cxx" -print-file-name=libc.a)" ] && ! pkg-config --print-requires-private tenon | grep -q .; then
  with_pkg_config cpp static "$cxx" main.cpp -std=c++20 -static
fi

# A foreign plug-in with the static library inside exports nothing of it or of bundled code, and
# runs in a program that links the shared library.
static_flags=$(pkg-config --cflags --libs --static tenon-static)
embed() {  # embed NAME COMPILER SOURCE FLAGS...
  local plugin=$work/lib$1.so exported
  # shellcheck disable=SC2086
  "$2" "${@:4}" -shared -fPIC -Dmain="$1" "$here/$3" -o "$plugin" $static_flags
  # Except instances of the standard library's templates for the plug-in's own code.
  exported=$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | grep -v '^_ZN\?K\?S[ast]\|^_ZN\?K\?9__gnu_cxx')
  if ! grep -qx "$1" <<< "$exported" || grep 'tenon\|fmt\|utf8proc\|nlohmann\|XXH' <<< "$exported"; then
    echo "FAILED: $plugin exports the above, or not $1"
    exit 1
  fi
}
embed first_plugin "$cc" embedded/plugin.c
embed second_plugin "$cxx" embedded/plugin.cpp -std=c++20 -fvisibility=hidden
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$here/embedded/host.cpp" -o "$work/host" $(pkg-config --cflags --libs tenon) -ldl \
  -Wl,-rpath,"$library_dir"
expect_answer "two plug-ins with the library inside, in a program with the shared one" \
  "$work/host" "$work/libfirst_plugin.so" "$work/libsecond_plugin.so"

# Meson finds the package through pkg-config.
if command -v meson > /dev/null; then
  for kind in shared static; do
    dir=$work/meson-$kind
    CC=$cc CXX=$cxx meson setup "$dir" "$here/meson" -Dstatic="$([ "$kind" = static ] && echo true || echo false)" \
      > "$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
    meson compile -C "$dir" >> "$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
    expect_linkage "$kind" "$dir/consumer"
    expect_answer "Meson, $kind" "$dir/consumer"
  done
else
  echo "skipped: Meson is not installed"
fi

# Manual pages of every command, and completion for three shells.
for command in $("$prefix/bin/tenon" completion bash | sed -n 's/^    \([a-z-]*\))$/\1/p') ''; do
  page=$prefix/share/man/man1/tenon${command:+-$command}.1
  [ -s "$page" ] || { echo "FAILED: there is no $page"; exit 1; }
done
for script in bash-completion/completions/tenon zsh/site-functions/_tenon fish/vendor_completions.d/tenon.fish; do
  [ -s "$prefix/share/$script" ] || { echo "FAILED: there is no $script"; exit 1; }
done

# The moved program finds the moved library, and all built plugins beside it.
if "$prefix/bin/tenon" backends > "$work/backends.txt"; then
  if grep -i 'refused' "$work/backends.txt"; then
    echo "FAILED: a plugin that was installed is refused"
    exit 1
  fi
  for built in "$build"/lib/tenon/libtenon-*.so; do
    [ -e "$built" ] || continue
    name=$(basename "$built")
    plugin=$(grep -o "/.*/$name" "$work/backends.txt" || true)
    if [ "$(realpath -m "$plugin")" != "$(realpath "$library_dir")/tenon/$name" ]; then
      cat "$work/backends.txt"
      echo "FAILED: the installed plugin $name was not found"
      exit 1
    fi
  done
else
  echo "FAILED: the installed program does not run"
  exit 1
fi
echo "$runs programs linked and run"

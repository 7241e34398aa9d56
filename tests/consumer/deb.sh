#!/usr/bin/env bash
# Makes the Debian packages by cpack, judges them by lintian, installs them into an empty root by
# dpkg, uses them there from a program through CMake and pkg-config, and purges them. Nothing is
# installed into the system.
#   usage: deb.sh BUILD_DIR WORK_DIR CC CPACK
# Ends with 77 if dpkg or a requirement of cpack is missing; without lintian that part is left out,
# with a message.
set -euo pipefail
build=$(realpath "$1") work=$(realpath -m "$2") cc=$3 cpack=$4
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../examples/models/demo-q8_0.gguf
for tool in dpkg dpkg-deb dpkg-shlibdeps ninja python3 gzip; do
  command -v "$tool" > /dev/null || { echo "skipped: no $tool (Debian: dpkg-dev)"; exit 77; }
done
fail() { echo "FAILED: $*"; exit 1; }

rm -rf "$work"
mkdir -p "$work"
# Compresses fast: only the contents are tested.
(cd "$work" && "$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip \
  > "$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; fail "cpack"; }
packages=("$work"/*.deb)
minor=$(basename "$(readlink -f "$build/lib/libtenon.so")" | sed -E 's/libtenon\.so\.([0-9]+\.[0-9]+).*/\1/')
names=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done | sort | tr '\n' ' ')
plugins=$(find "$build/lib/tenon" -name 'libtenon-*.so' -printf '%f\n' 2> /dev/null | sort)
[ "$names" = "libtenon-dev libtenon-hub$minor libtenon-media$minor libtenon-server$minor libtenon$minor tenon ${plugins:+tenon-plugins }" ] || fail "the packages are $names"
package_of() { ls "$work/$1"_*.deb; }

# Dependencies: those of the files, and Tenon's own packages in exactly this version.
depends() { dpkg-deb -f "$(package_of "$1")" Depends; }
[[ $(depends "libtenon$minor") == *libc6* && $(depends "libtenon$minor") == *libstdc++6* ]] || fail "the library's: $(depends "libtenon$minor")"
for package in tenon libtenon-dev; do
  [[ $(depends $package) == *"libtenon$minor (= "* && $(depends $package) == *"libtenon-server$minor (= "* \
     && $(depends $package) == *"libtenon-hub$minor (= "* ]] \
    || fail "$package depends on $(depends $package)"
done
dpkg-deb -I "$(package_of "libtenon$minor")" symbols > "$work/symbols"
[ "$(grep -c ' tenon_.*@TENON_' "$work/symbols")" -eq "$(nm -D --defined-only "$build/lib/libtenon.so" | grep -c ' T tenon_')" ] \
  || fail "the symbols file does not list what the library exports"

if command -v lintian > /dev/null; then
  # Only errors fail; the date of the changelog and the like are warnings.
  lintian --fail-on error --allow-root "${packages[@]}" > "$work/lintian.txt" 2>&1 || { cat "$work/lintian.txt"; fail "lintian"; }
  echo "lintian: no error, $(grep -c '^W: ' "$work/lintian.txt" || true) warnings"
else
  echo "left out: lintian is not installed"
fi

# Files without a component are in no package.
cmake --install "$build" --prefix "$work/unspecified" --component Unspecified > /dev/null
[ -z "$(find "$work/unspecified" -type f 2> /dev/null)" ] || fail "of no component: $(find "$work/unspecified" -type f)"

# An empty root, without the system's own libraries; only dependencies on these are forced.
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$work/bin"
# The packages' scripts call it, and the root has none: they run outside of the root, and must not
# reach the system's.
printf '#!/bin/sh\n' > "$work/bin/ldconfig"
chmod +x "$work/bin/ldconfig"
: > "$root/var/lib/dpkg/status"
: > "$root/var/lib/dpkg/available"
dpkg_there() {
  PATH=$work/bin:$PATH dpkg --root="$root" --log=/dev/null --force-not-root --force-bad-path --force-depends \
    --force-script-chrootless --no-triggers "$@"
}
dpkg_there -i "${packages[@]}" > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "dpkg -i"; }
for package in $names; do
  for document in copyright changelog.Debian.gz; do
    [ -s "$root/usr/share/doc/$package/$document" ] || fail "$package has no $document"
  done
  grep -q 'Apache License' "$root/usr/share/doc/$package/copyright" || fail "the copyright of $package"
done
gzip -dc "$root/usr/share/doc/libtenon$minor/libtenon.spdx.json.gz" | grep -q '"utf8proc' \
  || fail "the bill of materials does not name utf8proc"

# External programs, through both; the root stands for /.
pc=$(find "$root" -name tenon.pc)
library_dir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$library_dir/pkgconfig
# shellcheck disable=SC2046
"$cc" "$here/c/main.c" -o "$work/with-pkg-config" $(pkg-config --cflags --libs tenon)
cmake -S "$here/c" -B "$work/with-cmake" -DCMAKE_PREFIX_PATH="$root/usr" -DCOMPONENTS=shared -DLIBRARY=tenon::tenon \
  -DCMAKE_C_COMPILER="$cc" > "$work/with-cmake.log" 2>&1 || { cat "$work/with-cmake.log"; fail "find_package"; }
cmake --build "$work/with-cmake" >> "$work/with-cmake.log" 2>&1 || { cat "$work/with-cmake.log"; fail "find_package"; }
export LD_LIBRARY_PATH=$library_dir
for program in "$work/with-pkg-config" "$work/with-cmake/consumer"; do
  [[ $("$program" "$model") == *Oslo* ]] || fail "$program"
done
"$root/usr/bin/tenon" backends > "$work/backends.txt"
for plugin in $plugins; do
  grep -q "$library_dir/tenon/$plugin" "$work/backends.txt" || fail "the program does not see $plugin"
done
! grep -i 'refused' "$work/backends.txt" || fail "the program refuses what was installed"
if readelf -d "$root/usr/bin/tenon" | grep -i 'r\(un\)\?path'; then fail "the program has a search path of its own"; fi

# A purge leaves nothing.
dpkg_there --purge $names > "$work/purge.log" 2>&1 || { cat "$work/purge.log"; fail "dpkg --purge"; }
left=$(find "$root" -type f -not -path "$root/var/lib/dpkg/*")
[ -z "$left" ] || fail "purged, and still there: $left"
[ -z "$(dpkg-query --admindir="$root/var/lib/dpkg" -W 2> /dev/null)" ] || fail "dpkg still knows a package"
echo "${#packages[@]} packages: $names"

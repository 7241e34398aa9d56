#!/usr/bin/env bash
# Builds a Meson project with Tenon's sources as a subproject, by the wrap, without a network; runs
# and installs it. It builds the library, which takes minutes: part of bindings/build_all.sh, not of
# ctest.
#   usage: meson_wrap.sh WORK_DIR      MESON names the program
# Ends with status 77 without Meson.
set -euo pipefail
meson=${MESON:-meson}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
command -v "$meson" > /dev/null || { echo "SKIPPED: no meson"; exit 77; }
rm -rf "$1"
mkdir -p "$1/project/subprojects"
work=$(cd "$1" && pwd)
cp -r "$here/c" "$here/meson_wrap/meson.build" "$work/project"
cp -r "$root"/cmake/packaging/meson/* "$work/project/subprojects"
named=$(sed -n 's/^directory = //p' "$root/cmake/packaging/meson/tenon.wrap")
tar -C "$root" --transform "s|^|$named/|" -czf "$work/project/subprojects/packagefiles/$named.tar.gz" \
  CMakeLists.txt LICENSE cmake src capi include bindings/interface.json bindings/server_interface.json \
  bindings/hub_interface.json
"$meson" setup --wrap-mode=nodownload --prefix="$work/installed" --libdir=lib "$work/build" "$work/project"
"$meson" compile -C "$work/build"
model=$root/examples/models/demo-q8_0.gguf
[[ $("$work/build/wrapped" "$model") == *Oslo* ]] || { echo "FAILED: the program in the build folder"; exit 1; }
"$meson" install -C "$work/build" --no-rebuild > /dev/null
[ -f "$work/installed/lib/libtenon.so.$(cut -d. -f1,2 <<< "${named#tenon-}")" ] \
  || { echo "FAILED: the library is not installed"; exit 1; }
[[ $(LD_LIBRARY_PATH=$work/installed/lib "$work/installed/bin/wrapped" "$model") == *Oslo* ]] \
  || { echo "FAILED: the installed program"; exit 1; }

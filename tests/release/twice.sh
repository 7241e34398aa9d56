#!/usr/bin/env bash
# Makes a release of the last commit in two folders and compares the bytes: each file and SHA256SUMS.
#   usage: twice.sh TARGET [PARTS [FIRST]]
# FIRST is the folder of a release that was made of the same commit; then one is built alone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=$1 parts=${2:-tar,wheel,deb,rpm} first=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
zig=$(bash "$root/cmake/toolchains/install_zig.sh" "$root/build-release")
make_release() {  # make_release NAME
  git clone --quiet --no-hardlinks "$root" "$folder/$1/tree"
  # A cache of compilers would compare a build with itself.
  CCACHE_DISABLE=1 TENON_ZIG=$zig WORK=$folder/$1/work \
    bash "$folder/$1/tree/cmake/packaging/release.sh" --parts "$parts" --output "$folder/$1/dist" "$target"
}
make_release "second one"
if [ -z "$first" ]; then make_release first; first=$folder/first/dist; fi
different=0 compared=0
for file in "$folder/second one/dist"/*; do
  name=$(basename "$file")
  [ "$name" != SHA256SUMS ] || continue
  compared=$((compared + 1))
  cmp "$file" "$first/$name" || different=$((different + 1))
done
[ "$compared" -gt 0 ] && [ "$different" -eq 0 ] || { echo "FAILED: $different of $compared files differ"; exit 1; }
echo "$compared files, the same bytes"

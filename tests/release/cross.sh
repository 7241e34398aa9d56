#!/usr/bin/env bash
# Cross-builds the archive of a release for one target and checks it (check.sh). With two cores some
# minutes, most of them compiling.
#   usage: cross.sh [TARGET [TENON]]      default: aarch64-linux-gnu.2.28
# TENON is the program of this machine's build, whose answers and bits are expected.
# Ends with 77 and a sentence if the cross compiler cannot be had.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${1:-aarch64-linux-gnu.2.28}
work=${WORK:-$root/build-release}
zig=$(bash "$root/cmake/toolchains/install_zig.sh" "$work")
TENON_ZIG=$zig WORK=$work bash "$root/cmake/packaging/release.sh" --parts tar --output "$work/checked" "$target"
archives=("$work/checked"/tenon-*-"$target".tar.gz)
if [[ $target == *-macos ]]; then exec bash "$root/tests/release/check_macos.sh" "${archives[0]}"; fi
ZIG=$zig ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$work/zig-cache} \
  bash "$root/tests/release/check.sh" "${archives[0]}" "$work/check-$target" "${@:2:1}"

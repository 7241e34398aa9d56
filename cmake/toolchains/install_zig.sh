#!/usr/bin/env bash
# Prints the path of the cross compiler zig, of the version that releases are built with:
#   install_zig.sh FOLDER
# TENON_ZIG names one that is there; else it comes from python3's package ziglang, which is installed
# into FOLDER/zig-venv (400 MB) where it is missing. Ends with 77 and a sentence if it cannot be had.
set -euo pipefail
version=0.17.0
[ $# -eq 1 ] || { echo "usage: install_zig.sh FOLDER" >&2; exit 2; }
skip() { echo "SKIPPED: $*" >&2; exit 77; }
right() { [ -x "$1" ] && [ "$("$1" version 2> /dev/null)" = "$version" ]; }
of_python() { "$1" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))' 2> /dev/null; }

if [ -n "${TENON_ZIG:-}" ]; then
  right "$TENON_ZIG" || skip "TENON_ZIG is not zig $version: $TENON_ZIG"
  echo "$TENON_ZIG"
  exit
fi
command -v python3 > /dev/null || skip "no python3 for the package ziglang"
venv=$1/zig-venv
for python in python3 "$venv/bin/python"; do
  if found=$(of_python "$python") && right "$found"; then echo "$found"; exit; fi
done
mkdir -p "$1"
python3 -m venv "$venv" > /dev/null 2>&1 || skip "no venv for the package ziglang (Debian: python3-venv)"
"$venv/bin/pip" install --quiet --disable-pip-version-check "ziglang==$version" > /dev/null 2>&1 \
  || skip "pip does not reach the package ziglang $version"
of_python "$venv/bin/python"

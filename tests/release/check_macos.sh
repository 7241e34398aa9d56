#!/usr/bin/env bash
# Unpacks an archive of a release for macOS into an empty folder and judges its files by reading them
# (macos.py). What only a Mac can tell: tests/on_a_mac.sh.
#   usage: check_macos.sh ARCHIVE
set -euo pipefail
archive=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
name=$(basename "$archive" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$archive" -C "$work"
python3 "$here/macos.py" "$work/$name" "$(sed -E 's/^tenon-[0-9.]+-//' <<< "$name")" \
  "$root" "$HOME/" "$(dirname "$(dirname "$archive")")"
echo "ok: $name, by reading"

#!/usr/bin/env bash
# Installs missing Debian packages, given as arguments, without questions. --quiet as the first
# argument: silent if none is missing.
set -euo pipefail
quiet=false
if [ "${1:-}" = --quiet ]; then quiet=true; shift; fi
missing=()
for package in "$@"; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  $quiet || echo "All packages are installed."
  exit 0
fi
if ! command -v apt-get > /dev/null; then
  echo "There is no apt-get here. Install what these Debian packages hold, and go on with cmake: ${missing[*]}" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
  "${missing[@]}"

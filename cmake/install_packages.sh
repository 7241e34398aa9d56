#!/usr/bin/env bash
# Installs the Debian packages named as arguments that are missing; asks nothing.
set -euo pipefail
missing=()
for package in "$@"; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "All packages are installed."
  exit 0
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
  "${missing[@]}"

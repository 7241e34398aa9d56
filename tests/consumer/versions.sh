#!/usr/bin/env bash
# Checks that every place that names the project's version agrees with CMake's, and that a wrong one
# is found.
#   usage: versions.sh PYTHON VERSION
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/bindings/package_parts.py
"$1" "$check" "$2"
said=$("$1" "$check" 9.9.9 2> /dev/null) && { echo "FAILED: any version is accepted"; exit 1; }
for place in CMakeLists.txt interface.json made_for.json Cargo.toml Cargo.lock tenon.wrap vcpkg.json CHANGELOG.md; do
  [[ $said == *"$place says "* ]] || { echo "FAILED: $place is not compared"; exit 1; }
done

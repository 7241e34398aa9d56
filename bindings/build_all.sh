#!/usr/bin/env bash
# Builds packages of the bindings, into bindings/LANGUAGE/dist.
#   bindings/build_all.sh [LANGUAGE...]   python, go; all of them when none is named
# BUILD=FOLDER takes the library of that build folder; without it the release preset is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- python go
if [ -z "${BUILD:-}" ]; then
  BUILD=$root/build
  (cd "$root" && cmake --preset release && cmake --build build -j "$(nproc)")
fi
for language in "$@"; do
  case $language in
    python) "${PYTHON:-python3}" "$root/bindings/python/build_wheel.py" "$BUILD" "$root/bindings/python/dist" ;;
    go) "${PYTHON:-python3}" "$root/bindings/go/build_package.py" "$BUILD" "$root/bindings/go/dist" ;;
    *) echo "no binding for $language" >&2; exit 2 ;;
  esac
done

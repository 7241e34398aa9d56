#!/usr/bin/env bash
# Builds packages of the bindings, into bindings/LANGUAGE/dist.
#   bindings/build_all.sh [LANGUAGE...]   python, go, rust; all of them when none is named
# cheap: runs those that are no packages (luajit, ruby, php, csharp), and says which were left out.
# BUILD=FOLDER takes the library of that build folder; without it the release preset is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- python go rust
if [ -z "${BUILD:-}" ]; then
  BUILD=$root/build
  (cd "$root" && cmake --preset release && cmake --build build -j "$(nproc)")
fi
for language in "$@"; do
  case $language in
    python) "${PYTHON:-python3}" "$root/bindings/python/build_wheel.py" "$BUILD" "$root/bindings/python/dist" ;;
    go) "${PYTHON:-python3}" "$root/bindings/go/build_package.py" "$BUILD" "$root/bindings/go/dist" ;;
    cheap) "$root/bindings/test_cheap.sh" "$BUILD" || [ $? -eq 77 ] ;;
    rust) python3 "$root/bindings/rust/build_crates.py" "$BUILD" "$root/bindings/rust/dist" ;;
    *) echo "no binding for $language" >&2; exit 2 ;;
  esac
done

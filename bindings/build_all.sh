#!/usr/bin/env bash
# Builds packages of the bindings, into bindings/LANGUAGE/dist.
#   bindings/build_all.sh [LANGUAGE...]   python, node, rust, go, java; all of them when none is named
# cheap: runs those that are no packages (luajit, ruby, php, csharp). What is left out is said.
# BUILD=FOLDER takes the library of that build folder; without it the release preset is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}
[ $# -gt 0 ] || set -- python node rust go java cheap
if [ -z "${BUILD:-}" ]; then
  BUILD=$root/build
  (cd "$root" && cmake --preset release && cmake --build build -j "$(nproc)")
fi

package() {  # package LANGUAGE TOOL INTERPRETER SCRIPT
  command -v "$2" > /dev/null || { echo "$1 is left out: no $2" >&2; return 0; }
  "$3" "$root/bindings/$1/$4" "$BUILD" "$root/bindings/$1/dist"
}

for language in "$@"; do
  case $language in
    python) package python "$python" "$python" build_wheel.py ;;
    node) package node node node build_package.mjs ;;
    rust) package rust cargo "$python" build_crates.py ;;
    go) package go go "$python" build_package.py ;;
    java) package java javac "$python" build_jar.py ;;
    cheap) "$root/bindings/test_cheap.sh" "$BUILD" || [ $? -eq 77 ] ;;
    *) echo "no binding for $language" >&2; exit 2 ;;
  esac
done

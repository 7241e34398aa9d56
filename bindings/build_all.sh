#!/usr/bin/env bash
# Builds packages of the bindings, into bindings/LANGUAGE/dist, and says at the end what was left out and why.
#   bindings/build_all.sh [--test] [LANGUAGE...]   python, node, rust, go, java, cheap; all when none is named
# --test installs and tests each one, too (bindings/LANGUAGE/test.sh). cheap: runs those that are no packages (luajit,
# ruby, php, csharp). BUILD=FOLDER takes the library of that build folder; without it the release preset is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}
tested=false
if [ "${1:-}" = --test ]; then tested=true; shift; fi
[ $# -gt 0 ] || set -- python node rust go java cheap
if [ -z "${BUILD:-}" ]; then
  BUILD=$root/build
  (cd "$root" && cmake --preset release && cmake --build build -j "$(nproc)")
fi
BUILD=$(realpath "$BUILD")
export BUILD
left_out=()

# Ends with 77 where a test was left out; its last words say why.
try() {  # try LANGUAGE COMMAND...
  local language=$1 said status=0
  shift
  said=$(mktemp)
  "$@" 2>&1 | tee "$said" || status=$?
  if [ "$status" -eq 77 ]; then
    left_out+=("$language: $(grep -m 1 SKIPPED "$said" || tail -n 1 "$said")")
  fi
  rm -f "$said"
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
}

package() {  # package LANGUAGE TOOL INTERPRETER SCRIPT
  if ! command -v "$2" > /dev/null; then
    left_out+=("$1: no $2")
  elif $tested; then  # it builds the package
    try "$1" "$root/bindings/$1/test.sh" "$BUILD"
  else
    "$3" "$root/bindings/$1/$4" "$BUILD" "$root/bindings/$1/dist"
  fi
}

"$python" "$root/bindings/package_parts.py"  # one version everywhere
for language in "$@"; do
  case $language in
    python) package python "$python" "$python" build_wheel.py ;;
    node) package node node node build_package.mjs ;;
    rust) package rust cargo "$python" build_crates.py ;;
    go) package go go "$python" build_package.py ;;
    java) package java javac "$python" build_jar.py ;;
    cheap) try cheap "$root/bindings/test_cheap.sh" "$BUILD" ;;
    *) echo "no binding for $language" >&2; exit 2 ;;
  esac
done
for line in ${left_out[@]+"${left_out[@]}"}; do echo "LEFT OUT: $line" >&2; done

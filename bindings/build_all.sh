#!/usr/bin/env bash
# Builds the packages of all languages, into bindings/LANGUAGE/dist.
#   bindings/build_all.sh [--test | --all] [NAME...]   default: all names
# python, node, rust, go and java are packages. cheap runs programs without a package (luajit, ruby,
# php, csharp), ray Python's package on a cluster. deb builds the Debian packages, into
# BUILD/packages. meson, vcpkg and conan are recipes over this tree, each of which builds the
# library. --test also installs and tests each one (bindings/LANGUAGE/test.sh, tests/consumer).
# --all also runs slow tests: Rust under miri, the Debian packages in new systems, the scenarios
# over libraries of other minors (bindings/other_minors.sh), and 10^4 random orders in each language
# over a library under AddressSanitizer (bindings/asan.sh). A failure does not stop the rest: the
# last lines list omissions and failures. BUILD=FOLDER uses the library of that build folder; the
# default builds the release preset. MESON, CONAN and AUDITWHEEL name those programs, VCPKG_ROOT a
# checkout of vcpkg.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}
tested=false all=false
case ${1:-} in
  --test) tested=true; shift ;;
  --all) tested=true all=true; shift ;;
esac
[ $# -gt 0 ] || set -- python node rust go java cheap ray deb meson vcpkg conan
if [ -z "${BUILD:-}" ]; then
  BUILD=$root/build
  (cd "$root" && cmake --preset release && cmake --build build -j "$(nproc)")
fi
BUILD=$(realpath "$BUILD")
export BUILD
left_out=() failed=()

# Commands report whole (status 77) or partial omissions in such lines.
try() {  # try NAME COMMAND...
  local name=$1 said line status=0
  shift
  said=$(mktemp)
  "$@" 2>&1 | tee "$said" || status=$?
  while IFS= read -r line; do left_out+=("$name: $line"); done < <(
    grep -iE '^SKIPPED|left out|: not run$|not checked$' "$said" | sed -E 's/^(SKIPPED|LEFT OUT): //' | sort -u)
  rm -f "$said"
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed+=("$name: status $status of $*")
}

package() {  # package LANGUAGE TOOL INTERPRETER SCRIPT
  if ! command -v "$2" > /dev/null; then
    left_out+=("$1: no $2")
  elif $tested; then  # it builds the package
    try "$1" "$root/bindings/$1/test.sh" "$BUILD"
  else
    try "$1" "$3" "$root/bindings/$1/$4" "$BUILD" "$root/bindings/$1/dist"
  fi
  if $tested && [ -e "$root/bindings/$1/dist" ]; then
    try "$1" "$python" "$root/bindings/check_packages.py" "$root/bindings/$1"/dist/*
  fi
}

# Recipes have a test command and nothing else to build.
recipe() {  # recipe NAME COMMAND...
  if $tested; then try "$@"; else left_out+=("$1: --test builds and tests it"); fi
}

debian() {
  command -v dpkg-shlibdeps > /dev/null || { left_out+=("deb: no dpkg-shlibdeps"); return; }
  if $tested; then
    try deb "$root/tests/consumer/deb.sh" "$BUILD" "$BUILD/packages/test" "${CC:-cc}" cpack
  fi
  try deb env -C "$BUILD" cpack -G DEB -B "$BUILD/packages"
  if $all; then try deb "$root/tests/consumer/deb_clean_root.sh" "$BUILD/packages" "$BUILD/packages/systems"; fi
}

# Conan gets its own home, so that the user's does not change.
conan_create() {
  local conan=${CONAN:-conan}
  command -v "$conan" > /dev/null || { echo "SKIPPED: no conan"; return 77; }
  export CONAN_HOME=$BUILD/conan
  [ -e "$CONAN_HOME/profiles/default" ] || "$conan" profile detect
  "$conan" create "$root/cmake/packaging/conan" --no-remote -s compiler.cppstd=20
}

vcpkg_port() {
  [ -n "${VCPKG_ROOT:-}" ] || echo "LEFT OUT: without VCPKG_ROOT stand-ins ran the port in place of vcpkg's scripts"
  cmake -DWORK="$BUILD/vcpkg-port" ${VCPKG_ROOT:+"-DVCPKG_ROOT=$VCPKG_ROOT"} -P "$root/tests/consumer/vcpkg_port.cmake"
}

if $all; then
  if cargo +nightly miri --version > /dev/null 2>&1; then export TENON_TEST_MIRI=1; else left_out+=("rust: no miri"); fi
fi
try versions "$python" "$root/bindings/package_parts.py"  # one version everywhere
try names "$python" "$root/bindings/names.py"
for language in "$@"; do
  case $language in
    python) package python "$python" "$python" build_wheel.py ;;
    node) package node node node build_package.mjs ;;
    rust) package rust cargo "$python" build_crates.py ;;
    go) package go go "$python" build_package.py ;;
    java) package java javac "$python" build_jar.py ;;
    cheap) try cheap "$root/bindings/test_cheap.sh" "$BUILD" ;;
    ray) recipe ray "$root/bindings/python/test_ray.sh" "$BUILD" ;;
    deb) debian ;;
    meson) recipe meson "$root/tests/consumer/meson_wrap.sh" "$BUILD/meson-wrap" ;;
    vcpkg) recipe vcpkg vcpkg_port ;;
    conan) recipe conan conan_create ;;
    *) echo "no package for $language" >&2; exit 2 ;;
  esac
done
if $all; then
  try "other minors" "$root/bindings/other_minors.sh" "$BUILD"
  try "random orders" "$root/bindings/asan.sh" "$BUILD"
fi
for line in ${left_out[@]+"${left_out[@]}"}; do echo "LEFT OUT: $line" >&2; done
for line in ${failed[@]+"${failed[@]}"}; do echo "FAILED: $line" >&2; done
exit $((${#failed[@]} > 0))

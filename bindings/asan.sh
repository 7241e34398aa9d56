#!/usr/bin/env bash
# Runs the Python binding with a library that AddressSanitizer watches: accesses and leaks of the library.
#   bindings/asan.sh BUILD_FOLDER ASAN_FOLDER [PYTEST_ARGUMENT...]
# BUILD_FOLDER is one in which bindings/python/test.sh has run (its environment is used); ASAN_FOLDER a build with
#   cmake -S . -B ASAN_FOLDER -DTENON_SANITIZE=address -DTENON_TESTS=OFF     by GCC, target tenon_shared
# TENON_ORDERS: how many random orders of making, using and destroying objects (10000). Ends with 77, and says so, where
# something of this is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "${1:?usage: bindings/asan.sh BUILD_FOLDER ASAN_FOLDER}")
watched=$(realpath "${2:?usage: bindings/asan.sh BUILD_FOLDER ASAN_FOLDER}")
shift 2
skip() { echo "SKIPPED: $*"; exit 77; }

[ -e "$watched/lib/libtenon.so" ] || skip "$watched holds no library"
[ -x "$build/python-venv/bin/pytest" ] || skip "bindings/python/test.sh has not run in $build"
runtime=$(${CC:-gcc} -print-file-name=libasan.so)
[ -e "$runtime" ] || skip "no runtime of AddressSanitizer"
# The runtime looks for __cxa_throw when the process starts: the interpreter alone does not load it.
standard=$(${CC:-gcc} -print-file-name=libstdc++.so.6)
report=$(mktemp)
trap 'rm -f "$report"' EXIT
cd "$here/python/tests"
status=0
TENON_LIBRARY=$watched/lib/libtenon.so.0.1 TENON_ORDERS=${TENON_ORDERS:-10000} LD_PRELOAD=$runtime:$standard \
  ASAN_OPTIONS=detect_leaks=1:malloc_context_size=20 LSAN_OPTIONS=exitcode=0 PYTHONMALLOC=malloc \
  setarch --addr-no-randomize "$build/python-venv/bin/python" -m pytest -q -p no:cacheprovider \
  "$@" test_orders.py > "$report" 2>&1 || status=$?
# The interpreter keeps much of its own at the end: only what the library allocated counts.
leaks=$(awk -v RS= '/ leak of / && /in tenon(::|_)|libtenon/' "$report")
[ "$status" -eq 0 ] || { cat "$report"; exit "$status"; }
[ -z "$leaks" ] || { echo "$leaks"; exit 1; }
grep passed "$report"

#!/usr/bin/env bash
# Makes, uses and destroys objects in random orders in each language, over libraries under
# AddressSanitizer: accesses and leaks. Python's native module is instrumented, too, in
# tenon.Server, tenon.openai and tests that close handles.
#   bindings/asan.sh BUILD_FOLDER [LANGUAGE...]   python, node, rust, go, java; default: all
# bindings/LANGUAGE/test.sh must have run in BUILD_FOLDER (its installations are used). GCC builds
# the instrumented library into the folder named by TENON_ASAN_BUILD (build-asan-bindings).
# TENON_ORDERS: number of orders (10000). A language that lacks something is left out, with a
# message; status 77 if all are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
build=$(realpath "${1:?usage: bindings/asan.sh BUILD_FOLDER [LANGUAGE...]}")
shift
[ $# -gt 0 ] || set -- python node rust go java
watched=$(realpath -m "${TENON_ASAN_BUILD:-$root/build-asan-bindings}")
skip() { echo "SKIPPED: $*"; exit 77; }

command -v gcc > /dev/null && command -v g++ > /dev/null || skip "no gcc: another compiler has another runtime"
runtime=$(gcc -print-file-name=libasan.so)
[ -e "$runtime" ] || skip "no runtime of AddressSanitizer"
CC=gcc CXX=g++ cmake -S "$root" -B "$watched" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTENON_SANITIZE=address \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -g1" -DTENON_TESTS=OFF \
  -DTENON_EXAMPLES=OFF -DTENON_UNITY=ON > /dev/null
targets=(tenon_shared)
if grep -q '^build tenon_server:' "$watched/build.ninja"; then targets+=(tenon_server); fi
cmake --build "$watched" --target "${targets[@]}"
library=$(ls "$watched"/lib/libtenon.so.*.*.*)
# The runtime looks up __cxa_throw when the process starts; an interpreter does not load it by
# itself.
standard=$(gcc -print-file-name=libstdc++.so.6)
export TENON_LIBRARY=$library TENON_ORDERS=${TENON_ORDERS:-10000} TENON_TEST_LIBRARY=$library
export TENON_TEST_ORDERS=$TENON_ORDERS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prefix of a program under the sanitizer. Signals belong to runtimes that use them (V8, Go, the
# JVM). A leak does not fail the program; `judge` decides which count. The search for leaks would
# end early over thread-local memory of runtimes (V8, the JVM). It skips that memory, so memory that
# only a thread refers to counts as leaked.
options=detect_leaks=1:malloc_context_size=20:quarantine_size_mb=64
options+=:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=0:log_path=$work/report
under=(setarch --addr-no-randomize env "LD_PRELOAD=$runtime:$standard" "ASAN_OPTIONS=$options"
       LSAN_OPTIONS=exitcode=0:use_tls=0)

# Runtimes keep much memory at the end: only allocations of the library count.
judge() {  # judge LANGUAGE STATUS: judges the reports in the work folder
  local errors leaks
  errors=$(cat "$work"/report.* 2> /dev/null | grep -A 40 'ERROR: AddressSanitizer' || true)
  errors+=$(grep -h 'LeakSanitizer has encountered a fatal error' "$work"/report.* /dev/null || true)
  leaks=$(cat "$work"/report.* /dev/null 2> /dev/null | awk -v RS= '/ leak of / && /in tenon(::|_)|libtenon(-server)?\.so/' || true)
  rm -f "$work"/report.*
  if [ "$2" -ne 0 ] || [ -n "$errors$leaks" ]; then
    tail -n 60 "$work/said"
    printf '%s\n' "$errors" "$leaks" | sed -n 1,200p
    echo "$1: FAILED with status $2"
    failed=$((failed + 1))
  else
    echo "$1: $TENON_ORDERS orders passed in $((SECONDS - started)) s"
  fi
}

orders_python() {
  local python=$build/python-venv/bin/python
  [ -x "$build/python-venv/bin/pytest" ] && [ -e "$watched/lib/libtenon-server.so" ] || return 77
  # The installed package with an instrumented module.
  cp -r "$("$python" -c 'import pathlib, tenon; print(pathlib.Path(tenon.__file__).parent)')" "$work/tenon"
  gcc -std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=address -fPIC -shared -fvisibility=hidden \
    -I"$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" -I"$root/capi/include" \
    "$here/python/native/module.c" -o "$work/tenon/_native.abi3.so"
  cd "$here/python/tests"
  PYTHONMALLOC=malloc PYTHONPATH=$work "${under[@]}" "$python" -m pytest -q -p no:cacheprovider \
    test_orders.py test_openai.py test_openai_package.py test_closing.py test_server.py
}

orders_node() {
  [ -e "$build/node-test/node_modules/$("${PYTHON:-python3}" "$here/names.py" NPM)" ] || return 77
  cd "$build/node-test/tests"
  TENON_ROOT=$root "${under[@]}" node orders.test.mjs
}

orders_rust() {
  local program
  command -v cargo > /dev/null || return 77
  cd "$here/rust"
  program=$(CARGO_TARGET_DIR=$build/rust-target cargo test --quiet --locked --offline --test random_orders \
    --no-run --message-format=json | sed -n 's/.*"executable":"\([^"]*random_orders[^"]*\)".*/\1/p')
  cd tenon
  "${under[@]}" "$program"
}

orders_go() {
  command -v go > /dev/null || return 77
  cd "$here/go"
  export GOFLAGS=-buildvcs=false TENON_REPORT_LEAKS=1
  CGO_ENABLED=0 go test -c -o "$work/go_orders" .
  go test -c -tags tenon_cgo -o "$work/go_orders_cgo" .
  "${under[@]}" "$work/go_orders" -test.run RandomOrders -test.timeout 0
  "${under[@]}" "$work/go_orders_cgo" -test.run RandomOrders -test.timeout 0
}

orders_java() {
  JAVA_UNDER="${under[*]}" TENON_REPORT_LEAKS=1 "$here/java/test.sh" "$build" --include-classname '.*OrdersTest'
}

ran=0 failed=0
for language in "$@"; do
  started=$SECONDS status=0
  declare -F "orders_$language" > /dev/null || { echo "no random orders for $language" >&2; exit 2; }
  ("orders_$language") > "$work/said" 2>&1 || status=$?
  if [ "$status" -eq 77 ]; then
    echo "$language: left out, bindings/$language/test.sh has not run in $build, or $watched lacks its library"
  else
    ran=$((ran + 1))
    judge "$language" "$status"
  fi
done
[ "$ran" -gt 0 ] || skip "none of the languages is ready in $build"
exit $((failed > 0))

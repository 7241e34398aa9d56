#!/usr/bin/env bash
# Runs the scenarios in each language over an older and a newer library than the binding was made
# for (other_minors.py).
#   bindings/other_minors.sh BUILD_FOLDER [LANGUAGE...]   python, node, rust, go, java; default: all
# bindings/LANGUAGE/test.sh must have run in BUILD_FOLDER (its installations are used). A language
# that lacks something is left out, with a message; status 77 if all are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
build=$(realpath "${1:?usage: bindings/other_minors.sh BUILD_FOLDER [LANGUAGE...]}")
shift
[ $# -gt 0 ] || set -- python node rust go java
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" "$here/other_minors.py" "$build/lib/libtenon.so" "$work"
export TENON_ROOT=$root

scenarios_python() {
  [ -x "$build/python-venv/bin/pytest" ] || return 77
  cd "$here/python/tests"
  "$build/python-venv/bin/python" -m pytest -q -p no:cacheprovider test_scenarios.py
}

scenarios_node() {
  [ -e "$build/node-test/node_modules/$("${PYTHON:-python3}" "$here/names.py" NPM)" ] || return 77
  cd "$build/node-test/tests"
  node --test --test-reporter=dot scenarios.test.mjs
}

scenarios_rust() {
  command -v cargo > /dev/null || return 77
  cd "$here/rust"
  TENON_TEST_LIBRARY=$TENON_LIBRARY TENON_LIBRARY_DIR=$build/lib CARGO_TARGET_DIR=$build/rust-target \
    cargo test --quiet --locked --offline --test scenarios
}

scenarios_go() {
  command -v go > /dev/null || return 77
  cd "$here/go"
  CGO_ENABLED=0 GOFLAGS=-buildvcs=false go test -count=1 -run Scenarios .
}

scenarios_java() {
  "$here/java/test.sh" "$build" --include-classname '.*ScenariosTest'
}

ran=0 failed=0
for language in "$@"; do
  declare -F "scenarios_$language" > /dev/null || { echo "no scenarios for $language" >&2; exit 2; }
  for minor in older newer; do
    export TENON_LIBRARY=$work/$minor/libtenon.so
    status=0
    ("scenarios_$language") > "$work/said" 2>&1 || status=$?
    if [ "$status" -eq 77 ]; then
      echo "$language: left out, bindings/$language/test.sh has not run in $build"
      break
    fi
    ran=$((ran + 1))
    if [ "$status" -ne 0 ]; then
      tail -n 60 "$work/said"
      echo "$language over the $minor library: FAILED"
      failed=$((failed + 1))
    else
      echo "$language over the $minor library: passed"
    fi
  done
done
[ "$ran" -gt 0 ] || { echo "SKIPPED: none of the languages is ready in $build"; exit 77; }
exit $((failed > 0))

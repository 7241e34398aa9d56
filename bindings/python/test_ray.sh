#!/usr/bin/env bash
# Tests tenon.ray and tenon.dynamo with Ray and Dynamo themselves: a cluster on this machine whose
# workers are killed.
#   bindings/python/test_ray.sh [BUILD_FOLDER] [PYTEST_ARGUMENT...]   default: build-dev
# Ends with status 77 and a message if Ray is missing. Without Dynamo only its tests are left out.
# PYTHON names the interpreter. Environments stay in BUILD_FOLDER/python-ray and
# BUILD_FOLDER/python-dynamo.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}
skip() { echo "SKIPPED: $*"; exit 77; }

command -v "$python" > /dev/null || skip "no python3"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"

# Each in its own environment: they require different versions of some packages.
environment() {  # environment FOLDER TOOL REQUIREMENT...
  local venv=$1 tool=$2
  shift 2
  [ -x "$venv/bin/$tool" ] && return
  "$python" -m venv "$venv" 2> /dev/null &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check pytest "$@"
}
environment "$build/python-ray" ray "ray[serve,data]>=2.60" || skip "Ray does not install"
# The reference for the routes over HTTP, which are also tested without it.
"$build/python-ray/bin/python" -c 'import openai' 2> /dev/null ||
  "$build/python-ray/bin/pip" install --quiet --disable-pip-version-check openai || echo "openai does not install: left out"
BUILD=$build PYTHON=$python "$root/bindings/build_all.sh" python
install() {
  "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall "$here"/dist/tenon_llm-*.whl
}
install "$build/python-ray"
cd "$here/tests"
export RAY_USAGE_STATS_ENABLED=0
"$build/python-ray/bin/python" -m pytest -q -p no:cacheprovider "$@" test_ray.py
if environment "$build/python-dynamo" pytest "ai-dynamo-runtime>=1.6.1"; then
  install "$build/python-dynamo"
  "$build/python-dynamo/bin/python" -m pytest -q -p no:cacheprovider test_dynamo.py
else
  echo "NVIDIA Dynamo does not install: left out"
fi

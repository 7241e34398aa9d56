#!/usr/bin/env bash
# Builds the wheel from a build folder, installs it into a virtual environment and tests it there.
#   bindings/python/test.sh [BUILD_FOLDER] [PYTEST_ARGUMENT...]   default: build-dev
# Ends with status 77 and a message if Python's headers, a compiler or packages are missing. PYTHON
# names the interpreter. The environment stays in BUILD_FOLDER/python-venv.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$root/build-dev}")
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}
skip() { echo "SKIPPED: $*"; exit 77; }

command -v "$python" > /dev/null || skip "no python3"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$headers/Python.h" ] || skip "Python's headers are missing (Debian: python3-dev)"
command -v "${CC:-cc}" > /dev/null || skip "no C compiler"
[ -e "$build/lib/libtenon.so" ] || skip "$build holds no library"

venv=$build/python-venv
if [ ! -x "$venv/bin/pytest" ]; then
  "$python" -m venv "$venv" 2> /dev/null || skip "no venv (Debian: python3-venv)"
  "$venv/bin/pip" install --quiet --disable-pip-version-check pytest mypy numpy \
    || skip "pip does not reach a package index"
fi
# The reference for tenon.openai; its tests are left out without it.
"$venv/bin/python" -c 'import openai' 2> /dev/null ||
  "$venv/bin/pip" install --quiet --disable-pip-version-check openai || echo "openai does not install: left out"
BUILD=$build PYTHON=$python "$root/bindings/build_all.sh" python
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall \
  "$here"/dist/tenon_llm-*.whl

# From another folder, so that the installed package is tested.
cd "$here/tests"
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider "$@" .
"$venv/bin/mypy" --strict --config-file "$here/mypy.ini" --cache-dir "$build/python-mypy" -p tenon
"$venv/bin/mypy" --strict --cache-dir "$build/python-mypy" smoke.py
"$venv/bin/python" -m tenon --version

# One file serves every Python from 3.9 on.
installed=$("$venv/bin/python" -c 'import pathlib, tenon; print(pathlib.Path(tenon.__file__).parent.parent)')
alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT
cp -r "$installed/tenon" "$alone"
for minor in 9 10 11 12 13 14; do
  command -v "python3.$minor" > /dev/null && "python3.$minor" -c '' 2> /dev/null || continue
  PYTHONPATH=$alone PYTHONDONTWRITEBYTECODE=1 "python3.$minor" "$here/tests/smoke.py"
done
# Compares _native.pyi with the module itself.
"$venv/bin/stubtest" tenon._native

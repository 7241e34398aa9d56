#!/usr/bin/env bash
# Makes Python's package from a build, for PYTHONPATH=OUTPUT_FOLDER python3. bindings/build_all.sh
# makes the wheel that others install.
#   usage: python_package.sh BUILD_FOLDER OUTPUT_FOLDER [PYTHON [CC]]
# Ends with 77, and says so, without Python's headers.
set -euo pipefail
build=$(realpath "$1") output=$2 python=${3:-python3}
export CC=${4:-cc}
root=$(cd "$(dirname "$0")/.." && pwd)
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))') || exit 77
[ -e "$headers/Python.h" ] || {
  echo "SKIPPED: Python's headers are missing (Debian: python3-dev)"
  exit 77
}
"$python" -B "$root/bindings/python/generate.py"
rm -rf "$output"
mkdir -p "$output"
cp -r "$root/bindings/python/tenon" "$output"
"$python" - "$root/bindings/python" "$build" "$output/tenon/_native.abi3.so" <<'PYTHON'
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import build_wheel
build_wheel.compile_extension(Path(sys.argv[2]), Path(sys.argv[3]))
PYTHON
ln -s "$build/lib" "$output/tenon/lib"
PYTHONPATH=$output PYTHONDONTWRITEBYTECODE=1 "$python" -c 'import tenon'

#!/usr/bin/env bash
# Generates all generated files of the bindings, after a change of tenon.h, server.h or an option:
#   bindings/generate.sh BUILD_FOLDER|LIBRARY    a build of this tree, for its options
#   bindings/generate.sh --check LIBRARY         lists outdated files, status 1
set -euo pipefail
check=()
if [ "${1:-}" = --check ]; then check=(--check); shift; fi
library=${1:?usage: bindings/generate.sh [--check] BUILD_FOLDER|LIBRARY}
library=$(realpath "$library")
[ ! -d "$library" ] || library=$library/lib/libtenon.so
cd "$(dirname "${BASH_SOURCE[0]}")"
clang=$(command -v clang || command -v clang-14) || { echo "clang is missing" >&2; exit 1; }
python=${PYTHON:-python3}

"$python" describe/describe.py --clang "$clang" --library "$library" ${check[@]+"${check[@]}"}
for generator in */generate.py; do
  [ ! -e "$generator" ] || "$python" "$generator" ${check[@]+"${check[@]}"}
done

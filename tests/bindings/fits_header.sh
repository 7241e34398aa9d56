#!/usr/bin/env bash
# Every number and type of bindings/interface.json against tenon.h, as a compiler sees it; and that the
# comparison notices a number that is wrong.
#   fits_header.sh PYTHON DESCRIBE_PY ASSERTS_FILE COMPILER INCLUDE_FOLDER
set -euo pipefail
"$1" "$2" --asserts "$3"
compiles() { "$4" -std=c11 -fsyntax-only -I"$5" "$3"; }
compiles "$@" || { echo "FAILED: bindings/interface.json is not what tenon.h says"; exit 1; }

sed -i 's/offsetof(tenon_piece, length) == 24/offsetof(tenon_piece, length) == 16/' "$3"
if compiles "$@" 2> /dev/null; then echo "FAILED: a wrong offset goes unnoticed"; exit 1; fi

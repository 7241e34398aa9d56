#!/usr/bin/env bash
# Compares every number and type of bindings/interface.json, server_interface.json and
# hub_interface.json with tenon.h, server.h and hub.h, as a compiler sees them, and shows that the comparison notices a wrong number.
#   fits_header.sh PYTHON DESCRIBE_PY ASSERTS_FILE COMPILER INCLUDE_FOLDER
set -euo pipefail
"$1" "$2" --asserts "$3"
compiles() { "$4" -std=c11 -fsyntax-only -I"$5" "$3"; }
compiles "$@" || { echo "FAILED: the descriptions in bindings are not what the headers say"; exit 1; }

# notices FILE FROM TO: with TO instead of FROM it does not compile.
notices() {
  sed -i "s/$2/$3/" "$1"
  if compiles "${all[@]}" 2> /dev/null; then echo "FAILED: $3 goes unnoticed"; exit 1; fi
  sed -i "s/$3/$2/" "$1"
}
all=("$@")
notices "$3" 'offsetof(tenon_piece, length) == 24' 'offsetof(tenon_piece, length) == 16'
notices "$3" 'offsetof(tenon_server_part, length) == 40' 'offsetof(tenon_server_part, length) == 32'
notices "$3" 'offsetof(tenon_hub_progress, bytes_done) == 32' 'offsetof(tenon_hub_progress, bytes_done) == 24'

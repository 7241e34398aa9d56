#!/usr/bin/env bash
# Shows when the ABI check fails: it judges each change of fake/ as promised.
#   usage: judge_fake.sh WORK_DIR CC
set -euo pipefail
work=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"

build() { "$cc" -g -O1 -shared -fPIC ${1:+"-D$1"} "$here/fake/fake.c" -o "$work/libfake$1.so"; }

build ""
"$here/abi.sh" renew "$work/libfake.so" "$here/fake" "$work/fake.abi" "$work/symbols.txt"

verdict() {  # verdict pass|fail CHANGE [symbols]
  local found=pass
  build "$2"
  if [ "${3:-compare}" = compare ]; then
    "$here/abi.sh" compare "$work/libfake$2.so" "$here/fake" "$work/fake.abi" > "$work/$2.log" || found=fail
  else
    "$here/abi.sh" symbols "$work/libfake$2.so" "$work/symbols.txt" > "$work/$2.log" || found=fail
  fi
  if [ "$found" != "$1" ]; then
    cat "$work/$2.log"
    echo "FAILED: ${2:-no change} should $1 the check of ${3:-types}"
    exit 1
  fi
  echo "ok: ${2:-no change} -> $1 (${3:-types})"
}

verdict pass ""
verdict pass FUNCTION_MORE
verdict pass FIELD_AT_THE_END
verdict pass OPAQUE_TYPE
verdict fail PARAMETER_TYPE
verdict fail PARAMETER_COUNT
verdict fail FIELD_IN_THE_MIDDLE
verdict fail FUNCTION_GONE
verdict pass "" symbols
verdict fail FUNCTION_MORE symbols
verdict fail FUNCTION_GONE symbols

# The baseline does not depend on where and how it was built.
mkdir -p "$work/elsewhere"
cp -r "$here/fake" "$work/elsewhere/"
(cd "$work/elsewhere" && "$cc" -g -O2 -shared -fPIC fake/fake.c -o libfake.so)
"$here/abi.sh" renew "$work/elsewhere/libfake.so" "$work/elsewhere/fake" "$work/elsewhere.abi" \
  "$work/elsewhere.txt"
cmp "$work/fake.abi" "$work/elsewhere.abi"
echo "ok: built elsewhere, with other flags -> the same baseline"

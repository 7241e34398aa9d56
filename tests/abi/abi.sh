#!/usr/bin/env bash
# Compares the binary interface of a shared library with the committed one.
#   abi.sh symbols LIBRARY SYMBOLS_FILE      exported symbols are exactly those of the list
#   abi.sh compare LIBRARY HEADERS BASELINE  nothing in BASELINE changed; additions pass
#   abi.sh size LIBRARY MAX_BYTES            the stripped library is no larger
#   abi.sh needed LIBRARY                    needs only libraries of the C and C++ run time
#   abi.sh ends LIBRARY...                   nothing in them runs at exit or at the end of a thread
#   abi.sh renew LIBRARY HEADERS BASELINE [SYMBOLS_FILE]  rewrites them, after an intended change
# LIBRARY carries debug information. HEADERS is the folder of the public headers: a type defined
# elsewhere is opaque and free to change.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort; }

# Drops paths, line numbers and type numbers of this build, so that equal interfaces give equal
# files.
write_baseline() {
  abidw --headers-dir "$2" --drop-private-types --exported-interfaces-only --no-architecture \
    --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names \
    --type-id-style hash --out-file "$3" "$1"
  sed -i "s|path='[^']*/|path='|" "$3"
}

case $1 in
  symbols)
    diff <(LC_ALL=C sort "$3") <(exported "$2") \
      || { echo "FAILED: exported symbols (>) differ from $3 (<)"; exit 1; } ;;
  compare)
    # Both sides come from such files: only then are private types dropped alike. The exit status is
    # a set of bits; only 0 means no change.
    current=$(mktemp --suffix .abi)
    trap 'rm -f "$current"' EXIT
    write_baseline "$2" "$3" "$current"
    abidiff --no-architecture --no-added-syms --suppressions "$here/allowed.abignore" "$4" "$current" \
      || { echo "FAILED: the interface of $2 changed against $4"; exit 1; } ;;
  size)
    stripped=$(mktemp)
    trap 'rm -f "$stripped"' EXIT
    strip -o "$stripped" "$2"
    bytes=$(stat -c %s "$stripped")
    echo "stripped: $bytes bytes, at most $3"
    [ "$bytes" -le "$3" ] || { echo "FAILED: too large"; exit 1; } ;;
  needed)
    needed=$(readelf -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    echo $needed
    others=$(grep -v '^lib\(c\|m\|stdc++\|gcc_s\)\.so\.[0-9]*$\|^ld-linux' <<< "$needed") || exit 0
    echo "FAILED: needs $others"
    exit 1 ;;
  ends)
    # One function at the end is the compiler's, which has nothing to call then.
    for library in "${@:2}"; do
      registers=$(nm -D --undefined-only "$library" | grep -oE '\b(__cxa_atexit|__cxa_at_quick_exit|__cxa_thread_atexit(_impl)?|atexit|on_exit|pthread_key_create)\b' || true)
      bytes=$(readelf -d "$library" | sed -n 's/.*(FINI_ARRAYSZ) *\([0-9]*\) .*/\1/p')
      [ -z "$registers" ] || { echo "FAILED: $library calls" $registers; exit 1; }
      [ "${bytes:-0}" -le 8 ] || { echo "FAILED: $library has $((bytes / 8 - 1)) functions for the end"; exit 1; }
    done ;;
  renew)
    write_baseline "$2" "$3" "$4"
    [ $# -lt 5 ] || exported "$2" > "$5" ;;
  *)
    echo "abi.sh: unknown command '$1'" >&2
    exit 2 ;;
esac

#!/usr/bin/env bash
# Runs programs compiled against the headers of a released minor with a library of today.
#   past.sh run MINOR LANGUAGE COMPILER LIBRARY MODEL  links sources/consumer.LANGUAGE (c, cpp), as
#                           kept in MINOR/consumer_LANGUAGE.s.gz, and expects MINOR/LANGUAGE.expected
#   past.sh break MINOR COMPILER LIBRARY HEADERS MODEL  the C program must notice each break of
#                           sources/broken.c
#   past.sh keep MINOR LIBRARY HEADERS... MODEL         keeps both, when a minor is released
# The kept form is assembler: it contains a program's calls, the sizes and offsets of structures and
# the code of inline functions like the program itself, and it links with a library of any version
# node. x86-64 only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

link() {  # link COMPILER ASSEMBLER LIBRARY
  "$1" "$2" -o "$work/consumer" "$3" -Wl,-rpath,"$(dirname "$3")"
}

case $1 in
  run)
    minor=$here/$2 language=$3 compiler=$4 library=$5 model=$6
    gzip -dc "$minor/consumer_$language.s.gz" > "$work/consumer.s"
    link "$compiler" "$work/consumer.s" "$library"
    status=0
    "$work/consumer" "$model" "$work" > "$work/said" || status=$?
    [ "$status" -eq 0 ] || { tail -n 5 "$work/said"; echo "FAILED: status $status"; exit 1; }
    diff "$minor/$language.expected" "$work/said" || { echo "FAILED: it said something else (>)"; exit 1; } ;;
  break)
    minor=$2 compiler=$3 library=$(realpath "$4") headers=$5 model=$6
    num_breaks=$(grep -c 'BREAK ==' "$here/sources/broken.c")
    for ((number = 1; number <= num_breaks; ++number)); do
      "$compiler" -x c -DBREAK="$number" -shared -fPIC -I "$headers" "$here/sources/broken.c" -o "$work/broken.so"
      echo "INPUT($work/broken.so $library)" > "$work/libtenon.so"
      if LD_LIBRARY_PATH=$(dirname "$library") "$0" run "$minor" c "$compiler" "$work/libtenon.so" "$model" > "$work/said" 2>&1; then
        echo "FAILED: break $number is not noticed"
        exit 1
      fi
      tail -n 1 "$work/said"
    done ;;
  keep)
    minor=$here/$2 library=$3
    shift 3
    includes=()
    while [ $# -gt 1 ]; do includes+=(-I "$1"); shift; done
    model=$1
    mkdir -p "$minor"
    for language in c cpp; do
      [ $language = c ] && mode=(-x c -std=c11) || mode=(-x c++ -std=c++20)
      g++ "${mode[@]}" -Wall -Wextra -Os -fno-ident -S "${includes[@]}" "$here/sources/consumer.$language" \
        -o "$work/consumer.s"
      gzip -9nc "$work/consumer.s" > "$minor/consumer_$language.s.gz"
      link g++ "$work/consumer.s" "$library"
      if [ $language = c ]; then
        calls() { nm -u "$work/consumer" | sed -n 's/^ *U \(tenon_[a-z_]*\).*/\1/p' | LC_ALL=C sort; }
        missing=$(LC_ALL=C comm -23 "$here/../symbols.txt" <(calls))
        [ -z "$missing" ] || { echo "consumer.c does not call:" $missing; exit 1; }
      fi
      "$work/consumer" "$model" "$work" > "$minor/$language.expected"
    done ;;
  *)
    echo "past.sh: unknown command '$1'" >&2
    exit 2 ;;
esac

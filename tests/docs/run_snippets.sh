#!/usr/bin/env bash
# Compiles the ```cpp and ```c programs of a Markdown page against the built library and runs each in
# the project's root, where their paths hold. A block counts as a program when it has a main.
#   usage: run_snippets.sh PAGE LIBRARY WORK_DIR CC CXX MINIMUM_PROGRAMS
set -euo pipefail
page=$1 library=$2 work=$3 cc=$4 cxx=$5 minimum=$6
root=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$work"
mkdir -p "$work"

awk -v work="$work" '
  /^```(cpp|c)$/ { language = substr($0, 4); name = work "/snippet_" ++count "." language; next }
  /^```/         { name = "" }
  name != ""     { print > name }' "$page"

programs=0
for source in "$work"/snippet_*; do
  grep -q 'int main(' "$source" || continue
  case $source in
    *.c) compile=("$cc" -std=c11) ;;
    *) compile=("$cxx" -std=c++20) ;;
  esac
  "${compile[@]}" -Wall -Wextra -Werror -I "$root/include" -I "$root/capi/include" "$source" \
    -o "$source.out" "$library" -Wl,-rpath,"$(dirname "$library")"
  output=$(cd "$root" && "$source.out")
  [ ${#output} -ge 20 ] || { echo "FAILED: $source printed '$output'"; exit 1; }
  printf 'ok: %s\n%s\n' "$source" "$output"
  programs=$((programs + 1))
done
[ "$programs" -ge "$minimum" ] || { echo "FAILED: $programs programs in $page"; exit 1; }

#!/usr/bin/env bash
# Runs the fenced programs of a Markdown page, each alone: ```cpp and ```c (compiled against the
# built library), ```python and ```sh. A ```text block after a program is its output; "..." in it
# stands for any text. Other fences, ```console among them, are not run. Programs run in a separate
# folder with the tree's `examples`, `include` and `capi` and a `build`, whose `bin` is first in
# PATH. The port 8080 of a page becomes a free one. `models/Qwen3-0.6B` is a small folder of the
# shared test vectors.
#   usage: run_snippets.sh PAGE WORK_DIR KEY=VALUE...
#     languages="cpp c"   fences that are run
#     least=2             programs that the page must have of them
#     library=FILE        libtenon.so, for c and cpp; server=FILE adds libtenon-server.so,
#                         hub=FILE libtenon-hub.so, media=FILE libtenon-media.so
#     bin=FOLDER          holds the program `tenon`, for sh
#     python=PROGRAM      runs python with packages=FOLDER in its path
#     folder=FOLDER       the Hugging Face folder of the page
#     cc=PROGRAM cxx=PROGRAM
# Ends with 77 if packages=FOLDER holds no package, or the page's folder is missing.
set -euo pipefail
page=$1 work=$2
shift 2
languages="cpp c" least=1 library="" server="" hub="" media="" bin="" python=python3 packages="" folder=""
cc=cc cxx=c++
for setting; do declare "${setting%%=*}=${setting#*=}"; done
root=$(cd "$(dirname "$0")/../.." && pwd)

if [[ " $languages " == *" python "* ]] && [ ! -e "$packages/tenon/_native.abi3.so" ]; then
  echo "SKIPPED: $packages holds no package of Python"
  exit 77
fi
if grep -q models/Qwen3-0.6B "$page" && [ ! -e "$folder/config.json" ]; then
  echo "SKIPPED: the test vectors are missing: $folder"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work/run/build" "$work/run/models"
[ -z "$folder" ] || ln -s "$folder" "$work/run/models/Qwen3-0.6B"
for name in examples include capi; do ln -s "$root/$name" "$work/run/$name"; done
[ -z "$bin" ] || ln -s "$bin" "$work/run/build/bin"
[ -z "$library" ] || ln -s "$(dirname "$library")" "$work/run/build/lib"

# NN.LANGUAGE per program in order, NN.text for its output.
awk -v work="$work" '
  /^```/ && open { close(name); open = 0; ended = NR; next }
  /^```/ {
    open = 1
    language = substr($0, 4)
    if (language ~ /^(cpp|c|python|sh)$/) {
      name = sprintf("%s/%02d.%s", work, ++count, language)
      program = count
    } else if (language == "text" && program) {
      name = sprintf("%s/%02d.text", work, program)
      program = 0
    } else {
      name = "/dev/null"
    }
    next
  }
  open           { print > name; next }
  /[^ ]/         { program = 0 }' "$page"

free_port() {
  command -v python3 > /dev/null || { echo 8080; return; }
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

links=()
for file in $library $server $hub $media; do links+=("$file" "-Wl,-rpath,$(dirname "$file")"); done
compile() {  # compile SOURCE PROGRAM COMPILER...
  "${@:3}" -Wall -Wextra -Werror -I "$root/include" -I "$root/capi/include" "$1" -o "$2" \
    ${links[@]+"${links[@]}"} -pthread
}

run() {  # run PROGRAM_SOURCE: prints what the program prints
  local source=$1 program=$1.out
  case $source in
    *.c) compile "$source" "$program" "$cc" -std=c11 ;;
    *.cpp) compile "$source" "$program" "$cxx" -std=c++20 ;;
    *.python) set -- "$python" "$source" ;;
    *.sh)
      # Ends a server that a failing program left running.
      set -- bash -euo pipefail -c \
        'trap "kill \$(jobs -p) 2> /dev/null || true; wait" EXIT; . "$0"' "$source"
      [ -z "$server" ] || ! grep -q 8080 "$source" || sed -i "s/8080/$(free_port)/g" "$source" ;;
  esac
  [[ $source == *.c || $source == *.cpp ]] && set -- "$program"
  cd "$work/run"
  PATH=$work/run/build/bin:$PATH PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1 timeout 300 "$@"
}

# The text as a pattern of bash: "..." is any text, all else is itself.
pattern_of() {
  sed -e 's/[][\\*?]/\\&/g' -e 's/\.\.\.\./.\x01/g' -e 's/\.\.\./\x01/g' -e 's/\x01/*/g' "$1"
}

programs=0
for source in "$work"/[0-9]*.*; do
  language=${source##*.}
  [[ " $languages " == *" $language "* ]] || continue
  case $language in
    c | cpp) grep -q 'int main(' "$source" || continue ;;
  esac
  if [ "$language" = sh ] && grep -q '\bcurl\b' "$source" && ! command -v curl > /dev/null; then
    echo "left out, no curl: $source"
    programs=$((programs + 1))
    continue
  fi
  output=$(run "$source" 2> "$source.err") || {
    echo "FAILED: $source"
    cat "$source" "$source.err"
    echo "$output"
    exit 1
  }
  expected=${source%.*}.text
  if [ -e "$expected" ]; then
    pattern=$(pattern_of "$expected")
    # shellcheck disable=SC2053
    [[ $output == $pattern ]] || {
      printf 'FAILED: %s of %s printed\n%s\nand the page says\n%s\n' "$source" "$page" "$output" \
        "$(cat "$expected")"
      exit 1
    }
  elif [ ${#output} -lt 20 ]; then
    echo "FAILED: $source printed '$output'"
    exit 1
  fi
  printf 'ok: %s\n%s\n' "$source" "$output"
  programs=$((programs + 1))
done
[ "$programs" -ge "$least" ] || { echo "FAILED: $programs programs in $page"; exit 1; }

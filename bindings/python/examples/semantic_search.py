"""Finds the lines of a text that are most similar to a question: semantic_search.py MODEL FILE
QUESTION"""

import sys
from pathlib import Path

import tenon

path, file, question = sys.argv[1:]
embedder = tenon.Embedder(tenon.Model(path, embeddings="on"))
lines = [line for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
scores = embedder.rank(question, lines)
for score, line in sorted(zip(scores, lines), reverse=True)[:3]:
    print(f"{score:.3f} {line}")

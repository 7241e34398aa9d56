#!/usr/bin/env python3
"""Writes unigram.txt: a small Unigram model that SentencePiece trains on TEXT, and texts with the ids
that SentencePiece gives them: make_unigram.py TEXT. The normalization table is made of a few rules.

Lines: `o KEY 0|1` an option, `c HEX` the table, `t TYPE SCORE HEX` a token, `x HEX ID...` a text.
"""
import random
import sys

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

RULES = {"FF21": "41", "65 301": "E9", "2460": "31", "A0": "20", "AD": "", "3000": "20", "FB01": "66 69"}


def main():
    with open("rules.tsv", "w") as rules:
        for source, target in RULES.items():
            rules.write(f"{source}\t{target}\n")
    spm.SentencePieceTrainer.train(
        input=sys.argv[1], model_prefix="unigram", vocab_size=600, model_type="unigram",
        normalization_rule_tsv="rules.tsv", character_coverage=0.9995, user_defined_symbols=[],
        input_sentence_size=4000, num_threads=1, minloglevel=2)
    model = pb.ModelProto()
    model.ParseFromString(open("unigram.model", "rb").read())
    processor = spm.SentencePieceProcessor(model_file="unigram.model")
    random.seed(7)
    words = [w for w in open(sys.argv[1], encoding="utf8").read(200000).split()]
    letters = "abcdehilnorstuw  .,'-0123" "\u00e9e\u0301\uff21\u2460\u00a0\u00ad\u3000\ufb01\u4e00\u6211\U0001f680\t\n"
    texts = ["", " ", "   ", "a", " a ", "a  b", "  a   b  ", "\u6211\u6211 a\u6211", "Hello, world!", "\t\n"]
    for _ in range(50):
        texts.append(" ".join(random.choices(words, k=random.randint(1, 8))))
    for _ in range(60):
        texts.append("".join(random.choices(letters, k=random.randint(1, 24))))
    with open("unigram.txt", "w") as out:
        spec = model.normalizer_spec
        out.write(f"o remove_extra_spaces {int(spec.remove_extra_whitespaces)}\n")
        out.write(f"o add_space_prefix {int(spec.add_dummy_prefix)}\n")
        out.write("c " + spec.precompiled_charsmap.hex() + "\n")
        for piece in model.pieces:
            out.write(f"t {piece.type} {piece.score!r} {piece.piece.encode().hex()}\n")
        for text in texts:
            ids = " ".join(map(str, processor.encode(text)))
            out.write(f"x {text.encode().hex() or '-'} {ids}".rstrip() + "\n")


main()

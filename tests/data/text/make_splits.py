#!/usr/bin/env python3
"""Writes splits.txt: random texts cut by the published pre-tokenizer patterns, as Python's own regular
expressions cut them. They are an oracle that shares no code with src/text.

Python's `re` has no \\p{...}, so each class is spelled out over the alphabet of the texts. A line
is: the pre-tokenizer, a tab, the words of the text, each as hexadecimal UTF-8, with spaces between.
"""
import random
import re
import unicodedata

ALPHABET = (
    "abIstTmMdDrRevVElLxYZ" "\u017f\u00e9\u00c4\u00df\u00aa\u01bb\u0430\u0416\u03b1\u05d0\u0e01\u1780"
    "\u4e00\u6211\u9fa5\u3042\uac00\ud7a3\u02b0" "0123456789\u00bd\u00b2\u0663\u2167\u3007"
    "'\"!?.,;:-_()[]{}/\\@#%&*" "$+<=>^`|~" "\u2018\u3002\uff01\uff5e\u00bf\u20ac\u00a9\u00d7"
    "\U0001f680\U0001f636\u200d\U0001f32b\ufe0f\u0301\u0308\u093f" "      \t\n\n\r\x0b\x0c\u00a0\u0085\u2003\u3000\u2028"
    "\x00\x01\x7f\ufffd\ue000\u0378")

WHITE_SPACE = "\t\n\x0b\x0c\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    chr(c) for c in range(0x2000, 0x200B))


def members(test):
    return "".join(re.escape(c) for c in sorted(set(ALPHABET)) if test(c))


L = members(lambda c: unicodedata.category(c)[0] == "L")
N = members(lambda c: unicodedata.category(c)[0] == "N")
P = members(lambda c: unicodedata.category(c)[0] == "P")
S = members(lambda c: c in WHITE_SPACE)
NOT_S = f"[^{S}]"

GPT2 = (f"'s|'t|'re|'ve|'m|'ll|'d| ?[{L}]+| ?[{N}]+| ?[^{S}{L}{N}]+|[{S}]+(?!{NOT_S})|[{S}]+")


def llama3(digits):
    return (f"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n{L}{N}]?[{L}]+|[{N}]{digits}"
            f"| ?[^{S}{L}{N}]+[\\r\\n]*|[{S}]*[\\r\\n]+|[{S}]+(?!{NOT_S})|[{S}]+")


DEEPSEEK_LETTERS = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-Ֆ")  # as far as the alphabet goes
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

PATTERNS = {
    "gpt-2": [GPT2],
    "llama-bpe": [llama3("{1,3}")],
    "qwen2": [llama3("")],
    "starcoder": [f"[{N}]", GPT2],
    "falcon": [f"[{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [f"[{P}\\$\\+<=>\\^~\\|]+", GPT2, f"[{N}]+", "[0-9][0-9][0-9]"],
    "deepseek-llm": ["[\r\n]", f"[{S}]?[{DEEPSEEK_LETTERS}]+",
                     f"[{S}]?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
                     f"[{S}]+$", CJK, f"[{N}]+"],
    "deepseek-coder": ["[\r\n]", f"[{S}]?[{L}]+", f"[{S}]?[{P}]+", CJK, f"[{N}]"],
}


def split(patterns, text):
    pieces = [text]
    for pattern in patterns:
        cut = []
        for piece in pieces:
            at = 0
            for match in re.finditer(pattern, piece):
                cut += [piece[at:match.start()], match.group()]
                at = match.end()
            cut.append(piece[at:])
        pieces = [piece for piece in cut if piece]
    return pieces


def main():
    random.seed(20240501)
    with open("splits.txt", "w", encoding="ascii") as out:
        for name, patterns in PATTERNS.items():
            for number in range(120):
                # Short alphabets make runs, which is where the patterns differ.
                letters = random.sample(ALPHABET, random.choice([3, 6, 12, len(ALPHABET)]))
                letters += [" ", "'"] * random.choice([0, 1])
                text = "".join(random.choices(letters, k=random.randint(1, 40)))
                words = split(patterns, text)
                assert "".join(words) == text
                out.write(name + "\t" + " ".join(w.encode().hex() for w in words) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes more_splits.txt: what make_splits.py does, for the patterns that need Unicode properties,
with the Python package `regex` as the oracle. The patterns are the published ones, written out."""
import random

import regex

from make_splits import ALPHABET

ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
HIRA_KATA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
DEEPSEEK_V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
               r"| ?[\p{P}\p{S}]+[\r\n]*|" + SPACES)


def cased(endings):
    return (rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{endings}"
            rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{endings}")


def gpt4o(digits):
    return cased(ENDINGS + "?") + rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + SPACES


def bloom():
    return " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"


HAN = r"&&[^\p{Han}]"
PATTERNS = {
    "qwen35": [ENDINGS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES],
    "minicpm5": [r"\p{N}{1,3}", ENDINGS + "|" + WORDS + r"|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES],
    "deepseek-v3": [r"\p{N}{1,3}", HIRA_KATA, DEEPSEEK_V3],
    "youtu": [
        "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
        "\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + HIRA_KATA, gpt4o(r"\p{N}")],
    "bloom": [bloom()],
    "viking": [bloom(), r"\p{N}"],
    "tekken": [cased("") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES],
    "gpt-4o": [gpt4o(r"\p{N}{1,3}")],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", gpt4o(r"\p{N}{1,3}")],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )",
                  r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "kimi-k2": [
        rf"\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?[[{UPPER}]{HAN}]*[[{LOWER}]{HAN}]+{ENDINGS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[[{UPPER}]{HAN}]+[[{LOWER}]{HAN}]*{ENDINGS}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
                   r"|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [ENDINGS + "|" + WORDS + r"|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + SPACES],
    "jais-2": [ENDINGS + "|" + WORDS + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
               + "|".join(rf"\s{{{1 << n}}}(?!\S)" for n in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"],
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
              "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf"
              "\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af"
              "\u1100-\u11ff]+", DEEPSEEK_V3],
    "laguna": [r"[^\n]+|[\n]+", ENDINGS + "|" + WORDS + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES],
    "exaone-moe": [ENDINGS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
                   r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
    "gemma4": [r"[^\n]+|[\n]+"],
    "whitespace": [r"\S+"],
}


def split(patterns, text):
    pieces = [text]
    for pattern in patterns:
        cut = []
        for piece in pieces:
            at = 0
            for match in pattern.finditer(piece):
                cut += [piece[at:match.start()], match.group()]
                at = match.end()
            cut.append(piece[at:])
        pieces = [piece for piece in cut if piece]
    return pieces


def main():
    random.seed(20260101)
    # The white space that Python's regex adds to Unicode's.
    alphabet = [c for c in ALPHABET if c not in "\x1c\x1d\x1e\x1f"]
    with open("more_splits.txt", "w", encoding="ascii") as out:
        for name, sources in PATTERNS.items():
            patterns = [regex.compile(source, regex.V1) for source in sources]
            for number in range(60):
                letters = random.sample(alphabet, random.choice([3, 6, 12, len(alphabet)]))
                letters += [" ", "'"] * random.choice([0, 1])
                letters += random.choice(["", "1234", "aB", "'sT", "\u4e00\u6211", "e\u0301", " ", "/\n"])
                text = "".join(random.choices(letters, k=random.randint(1, 40)))
                words = split(patterns, text)
                assert "".join(words) == text
                out.write(name + "\t" + " ".join(w.encode().hex() for w in words) + "\n")


if __name__ == "__main__":
    main()

"""Byte-level BPE of the demo model, with the pre-tokenizer of Qwen 2. The vocabulary stays as it is:
adapters, draft models and tests are made for it."""
import json
import re
from pathlib import Path

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*"
                   r"|\s*[\r\n]+|\s+(?!\S)|\s+", re.IGNORECASE)
_SPECIAL = re.compile("(" + "|".join(map(re.escape, SPECIAL)) + ")")


def _letters_of_bytes() -> dict[int, str]:
    """GPT-2's printable letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}
    letters.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return letters


class Tokenizer:
    def __init__(self) -> None:
        data = json.loads((Path(__file__).parent / "vocabulary.json").read_text())
        self.tokens: list[str] = data["tokens"]
        self.merges: list[str] = data["merges"]
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self._ranks = {tuple(merge.split(" ")): i for i, merge in enumerate(self.merges)}
        self._letters = _letters_of_bytes()
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        ids = []
        for part in _SPECIAL.split(text):
            if part in SPECIAL:
                ids.append(self._ids[part])
            else:
                for word in _WORD.findall(part):
                    ids += self._encode_word(word)
        return ids

    def _encode_word(self, word: str) -> list[int]:
        if word not in self._words:
            pieces = [self._letters[byte] for byte in word.encode()]
            never = len(self._ranks)
            while len(pieces) > 1:
                ranks = [self._ranks.get(pair, never) for pair in zip(pieces, pieces[1:])]
                at = min(range(len(ranks)), key=ranks.__getitem__)
                if ranks[at] == never:
                    break
                pieces[at:at + 2] = [pieces[at] + pieces[at + 1]]
            self._words[word] = [self._ids[piece] for piece in pieces]
        return self._words[word]

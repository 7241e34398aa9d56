"""Prefixes of a text as numbers that are quick to send and to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

# Characters per hash, the resolution of a prefix. Smaller is finer and sends more.
BLOCK_CHARACTERS = 256


class Beginning(NamedTuple):
    """A text up to the end of one of its blocks."""

    hash: int
    """64-bit hash of all characters up to there."""
    characters: int
    """Number of these characters."""


def beginnings(texts: Sequence[str]) -> list[Beginning]:
    """Prefixes of a conversation, the shortest first. A block ends with its text, so the prefixes
    of a conversation are prefixes of its next turn."""
    state = hashlib.blake2b(digest_size=8)
    found, characters = [], 0
    for text in texts:
        for start in range(0, len(text), BLOCK_CHARACTERS):
            block = text[start:start + BLOCK_CHARACTERS]
            characters += len(block)
            # Hashed with its length: "ab", "c" is not "a", "bc".
            state.update(f"{len(block)}:{block}".encode("utf-8", "surrogatepass"))
            found.append(Beginning(int.from_bytes(state.digest(), "little"), characters))
    return found

"""Tracks which prefixes an engine's KV cache holds, to route requests to them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from ._engine import Engine


class KeptBlocks:
    """Hashes of blocks, each over a text up to the block's end, the most recently used at the end.
    The engine reports how many blocks it evicted, not which: the least recently used, as in its own
    index."""

    def __init__(self, most: int, *, tokens_of_block: int) -> None:
        self._most = most
        self._tokens_of_block = tokens_of_block
        self._kept: OrderedDict[int, None] = OrderedDict()
        self._evicted_tokens = 0

    def add(self, text: Sequence[int]) -> "list[int]":
        """Notes the blocks of a computed text, from its first on; returns those evicted for it. The
        longest prefixes of one text are evicted first."""
        for block in reversed(text):
            self._kept[block] = None
            self._kept.move_to_end(block)
        return self.forget(len(self._kept) - self._most)

    def forget(self, blocks: int) -> "list[int]":
        """Evicts the least recently used blocks and returns them."""
        return [self._kept.popitem(last=False)[0] for _ in range(min(blocks, len(self._kept)))]

    def follow(self, engine: Engine, tokens_of_engine_block: int = 32) -> "list[int]":
        """Evicts as many blocks as the engine did since the last call."""
        evicted = engine.stats().prefix_evicted * tokens_of_engine_block
        blocks = (evicted - self._evicted_tokens) // self._tokens_of_block
        self._evicted_tokens += blocks * self._tokens_of_block
        return self.forget(blocks)

    def __contains__(self, block: int) -> bool:
        return block in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def blocks(self) -> Iterable[int]:
        """All hashes, the next to be evicted first."""
        return self._kept.keys()

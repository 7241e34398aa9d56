"""Which beginnings of texts an engine's KV cache holds, for those who send requests where their beginning is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from ._engine import Engine


class KeptBlocks:
    """Hashes of blocks, each of a text up to the block's end; those used last at the end. The engine tells how many
    blocks it gave up, not which: those that were used longest ago, as in its own index."""

    def __init__(self, most: int, *, tokens_of_block: int) -> None:
        self._most = most
        self._tokens_of_block = tokens_of_block
        self._kept: OrderedDict[int, None] = OrderedDict()
        self._evicted_tokens = 0

    def add(self, text: Sequence[int]) -> "list[int]":
        """Notes the blocks of a text that was computed, from its first on; those that are forgotten for it. Of one
        text the longest beginnings are given up first."""
        for block in reversed(text):
            self._kept[block] = None
            self._kept.move_to_end(block)
        return self.forget(len(self._kept) - self._most)

    def forget(self, blocks: int) -> "list[int]":
        """Drops those that were used longest ago, and says which."""
        return [self._kept.popitem(last=False)[0] for _ in range(min(blocks, len(self._kept)))]

    def follow(self, engine: Engine, tokens_of_engine_block: int = 32) -> "list[int]":
        """Forgets what the engine gave up since the last call."""
        evicted = engine.stats().prefix_evicted * tokens_of_engine_block
        blocks = (evicted - self._evicted_tokens) // self._tokens_of_block
        self._evicted_tokens += blocks * self._tokens_of_block
        return self.forget(blocks)

    def __contains__(self, block: int) -> bool:
        return block in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def blocks(self) -> Iterable[int]:
        """All of them, those that go first at the front."""
        return self._kept.keys()

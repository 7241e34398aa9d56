"""What is known of an engine's cache from outside."""

from conftest import DEMO

import tenon
from tenon._kept import KeptBlocks


def test_what_was_used_longest_ago_is_forgotten():
    kept = KeptBlocks(3, tokens_of_block=32)
    assert kept.add([1, 2]) == [] and kept.add([3, 4]) == [2]  # of one text the longer beginning goes first
    assert list(kept.blocks()) == [1, 4, 3] and 2 not in kept
    assert kept.add([1, 2]) == [4] and kept.forget(1) == [3] and kept.forget(9) == [2, 1] and len(kept) == 0


def test_what_the_engine_gave_up_is_forgotten():
    model = tenon.Model(DEMO, threads=1)
    engine = tenon.Engine(model, cache_bytes=5 * 2**20)
    kept = KeptBlocks(1000, tokens_of_block=64)
    kept.add(range(100))
    assert kept.follow(engine) == []
    for number in range(30):
        with engine.stream(f"{number} " + "word " * 300, max_tokens=1) as generation:
            generation.text()
    evicted = engine.stats().prefix_evicted
    assert evicted > 4
    assert kept.follow(engine) == list(range(99, -1, -1))[:evicted * 32 // 64]
    assert kept.follow(engine) == []

"""Continues many texts at once, in one budget of memory: many_requests.py MODEL [COUNT]"""

import asyncio
import sys
import time

import tenon


async def count_tokens(generation):
    return sum([piece.token is not None async for piece in generation])


async def main(path, count):
    engine = tenon.Engine(tenon.Model(path), cache_bytes=2**28)
    begin = time.perf_counter()
    tokens = sum(await asyncio.gather(*(
        count_tokens(engine.stream("Once upon a time", max_tokens=24, ignore_end=True, sampling={"seed": seed}))
        for seed in range(count))))
    seconds = time.perf_counter() - begin
    print(f"{tokens} tokens in {seconds:.2f} s: {tokens / seconds:.0f} a second")
    engine.close()


asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 64))

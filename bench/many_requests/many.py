"""The same from Python: many.py MODEL COUNT TOKENS"""

import asyncio
import os
import sys
import time

import tenon


async def count_tokens(engine, seed, max_tokens):
    session = engine.open_session(context=256)
    generation = session.generate("Once upon a time", max_tokens=max_tokens, ignore_end=True, sampling={"seed": seed})
    return sum([piece.token is not None async for piece in generation])


async def main(path, count, max_tokens):
    engine = tenon.Engine(tenon.Model(path), running=count)

    async def generate(tokens):
        return sum(await asyncio.gather(*(count_tokens(engine, seed, tokens) for seed in range(count))))
    await generate(2)
    begin = time.perf_counter()
    tokens = await generate(max_tokens)
    print(tokens / (time.perf_counter() - begin))
    engine.close()


if "MANY_LIBRARY" in os.environ:
    tenon.use_library(os.environ["MANY_LIBRARY"])
asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

"""asyncio: one waker for each loop, one thread for each engine, none for a request."""

import asyncio
import os
import time

import pytest
from conftest import ONCE

import tenon
from tenon._loops import waker_of_running_loop


def threads():
    return len(os.listdir("/proc/self/task"))


def test_a_stream_is_iterated_in_both_ways(model):
    engine = tenon.Engine(model)
    options = {"max_tokens": 12, "sampling": {"temperature": 0}}
    by_for = list(engine.stream(ONCE, **options))

    async def iterate():
        return [piece async for piece in engine.stream(ONCE, **options)]
    assert asyncio.run(iterate()) == by_for
    assert len(by_for) == 12


def test_a_session_of_a_model_streams_too(model):
    async def iterate():
        session = tenon.Session(model)
        return await session.generate(ONCE, max_tokens=5, sampling={"temperature": 0}).atext()
    assert asyncio.run(iterate()) == " there was a lonely owl"


def test_what_comes_right_after_a_wait_with_a_limit_has_begun_ends_it():
    async def main():
        waker = waker_of_running_loop()
        key = waker.new_key()
        start = time.monotonic()
        asyncio.get_running_loop().call_soon(waker._end_wait, key)
        await waker.wait_at_most(key, 5)
        assert time.monotonic() - start < 4
        start = time.monotonic()
        await waker.wait_at_most(key, 0.05)  # nothing comes
        assert time.monotonic() - start >= 0.04 and not waker._waiting
    asyncio.run(main())


def test_two_hundred_requests_share_one_thread(model):
    engine = tenon.Engine(model, running=200)

    async def iterate():
        first = await engine.stream(ONCE, max_tokens=2, sampling={"temperature": 0}).atext()
        before = threads()
        most = before
        streams = [engine.stream(ONCE, max_tokens=8, sampling={"temperature": 0}) for _ in range(200)]

        async def watch():
            nonlocal most
            while True:
                most = max(most, threads())
                await asyncio.sleep(0.005)
        watcher = asyncio.create_task(watch())
        texts = await tenon.gather_texts(streams)
        watcher.cancel()
        assert set(texts) == {texts[0]} and texts[0].startswith(first)
        assert most == before
    asyncio.run(iterate())


def test_cancelling_the_task_cancels_the_request(model):
    engine = tenon.Engine(model)

    async def iterate():
        session = engine.open_session()
        generation = session.generate("word " * 450)
        task = asyncio.create_task(generation.__anext__())
        await asyncio.sleep(0)  # it has begun to wait
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):  # the engine lets the session go within milliseconds
            try:
                session.rewind(1)
                break
            except tenon.StateError:
                await asyncio.sleep(0.005)
        assert await session.generate(max_tokens=2).atext()
    asyncio.run(iterate())
    assert engine.stats().cancelled == 1


def test_a_block_ends_the_request(model):
    async def iterate():
        session = tenon.Session(model)
        async with session.generate(ONCE) as generation:
            async for _ in generation:
                break
        session.append("more")
    asyncio.run(iterate())


def test_a_deadline_comes_out_of_the_loop(model):
    async def iterate():
        with pytest.raises(tenon.DeadlineError):
            await tenon.Engine(model).stream("word " * 450, timeout=0.000001).atext()
        with pytest.raises(TimeoutError):
            await tenon.Engine(model).stream("word " * 450, timeout=0.000001).atext()
    asyncio.run(iterate())


def test_the_loop_runs_while_the_engine_computes(model):
    async def iterate():
        turns = 0

        async def turn():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.001)
        other = asyncio.create_task(turn())
        start = time.monotonic()
        await tenon.Engine(model).stream("word " * 450, max_tokens=100, ignore_end=True).atext()
        other.cancel()
        assert turns > (time.monotonic() - start) / 0.001 / 20
    asyncio.run(iterate())


def test_several_loops_one_after_another(model):
    engine = tenon.Engine(model)
    for _ in range(5):
        assert asyncio.run(engine.stream(ONCE, max_tokens=2, sampling={"temperature": 0}).atext()) \
            == " there was"


def test_a_generation_moves_from_for_to_async_for(model):
    generation = tenon.Session(model).generate(ONCE, max_tokens=4, sampling={"temperature": 0})
    first = next(generation)
    rest = asyncio.run(generation.atext())
    assert first + rest == " there was a lonely"


def test_closing_an_engine_ends_what_waits_for_it(model):
    async def iterate():
        engine = tenon.Engine(model)
        streams = [engine.stream("word " * 450, ignore_end=True) for _ in range(3)]
        waiting = [asyncio.ensure_future(stream.atext()) for stream in streams]
        await asyncio.sleep(0)  # they have begun to wait
        engine.close()
        ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
        assert {type(end) for end in ends} == {tenon.CancelledError}
    asyncio.run(iterate())


def test_a_closed_engine_says_so(model):
    engine = tenon.Engine(model)
    session = engine.open_session()
    engine.close()
    with pytest.raises(tenon.StateError, match="closed"):
        asyncio.run(session.generate(ONCE, max_tokens=2).atext())
    assert session.generate(max_tokens=2, sampling={"temperature": 0}).text()

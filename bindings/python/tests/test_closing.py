"""A generation or stream that is closed before its last piece: silent for who closed it, an error for who iterates."""

import asyncio
import sys
import threading
import time

import pytest
from conftest import DEMO, ONCE

import tenon
from tenon.openai import APIConnectionError, AsyncOpenAI, OpenAI
from tenon.openai._values import body_of

# More tokens than are generated before a test is about to end it.
LONG = 16384
# What an answer that waits for nothing takes at most.
SECONDS = 10


def elsewhere(close):
    """Calls it in a thread, to its end."""
    thread = threading.Thread(target=close)
    thread.start()
    thread.join()


@pytest.fixture
def blocked(model):
    """A generation that gets its first piece when 16000 tokens of another one have been made."""
    engine = tenon.Engine(model, running=1)
    first = tenon.Session(model, engine=engine, context=LONG).generate(ONCE, max_tokens=16000, ignore_end=True)
    next(first)
    yield engine.stream(ONCE, max_tokens=2)
    first.close()


def test_closed_between_two_pieces(session):
    generation = session.generate(ONCE, max_tokens=8)
    next(generation)
    elsewhere(generation.close)
    for _ in range(2):
        with pytest.raises(tenon.CancelledError):
            next(generation)
    with pytest.raises(tenon.CancelledError):
        asyncio.run(generation.atext())
    session.append("more")


def test_closed_before_the_first_piece(session):
    generation = session.generate(ONCE, max_tokens=8)
    elsewhere(generation.close)
    with pytest.raises(tenon.CancelledError):
        generation.text()


def test_closed_in_the_wait(blocked):
    engine = blocked.session._engine
    steps = engine.stats().steps

    def close():
        while engine.stats().steps == steps:  # nothing but that wait computes
            time.sleep(0.001)
        blocked.close()
    closer = threading.Thread(target=close)
    closer.start()
    start = time.monotonic()
    with pytest.raises(tenon.CancelledError):
        blocked.text()
    assert time.monotonic() - start < SECONDS
    closer.join()


@pytest.mark.parametrize("function", ["request_next", "request_logprobs"])
def test_closed_on_the_way_into_the_library(session, monkeypatch, function):
    """Closed after it was looked at whether it is."""
    generation = session.generate(ONCE, max_tokens=8, logprobs=1)
    original = getattr(tenon._native, function)

    def called(*arguments):
        elsewhere(generation.close)
        return original(*arguments)
    monkeypatch.setattr(tenon._native, function, called)
    with pytest.raises(tenon.CancelledError):
        next(generation)


def test_another_task_closes_between_two_pieces(model):
    async def main():
        generation = tenon.Session(model).generate(ONCE, max_tokens=8)
        await generation.__anext__()

        async def close():
            generation.close()
        await asyncio.create_task(close())
        with pytest.raises(tenon.CancelledError):
            await generation.atext()
    asyncio.run(main())


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_task_waits_and_another_one_closes(blocked, in_thread):
    async def main():
        waiting = asyncio.create_task(blocked.atext())
        while blocked._waker is None or not blocked._waker._waiting:
            await asyncio.sleep(0)
        if in_thread:
            elsewhere(blocked.close)
        else:
            blocked.close()
        with pytest.raises(tenon.CancelledError):
            await asyncio.wait_for(waiting, SECONDS)
    asyncio.run(main())


@pytest.mark.parametrize("function", ["request_wait", "request_attach"])
def test_closed_on_the_way_into_the_wait_of_a_task(blocked, monkeypatch, function):
    """Closed after a look for a piece, or after the loop is told where to hear of one."""
    original = getattr(tenon._native, function)

    def called(*arguments):
        answer = original(*arguments)
        elsewhere(blocked.close)
        return answer

    async def main():
        with pytest.raises(tenon.CancelledError):
            await asyncio.wait_for(blocked.__anext__(), SECONDS)
    monkeypatch.setattr(tenon._native, function, called)
    asyncio.run(main())


def test_the_code_that_closes_may_go_on(session):
    generation = session.generate(ONCE, max_tokens=8)
    next(generation)
    generation.close()
    assert list(generation) == []
    with session.generate(max_tokens=8) as generation:
        next(generation)
    assert list(generation) == []

    async def main():
        generation = session.generate(max_tokens=8)
        async with generation:
            async for _ in generation:
                break
        assert await generation.atext() == ""
    asyncio.run(main())


def test_closing_with_or_after_the_last_piece_changes_nothing(session, monkeypatch):
    generation = session.generate(ONCE, max_tokens=2)
    next(generation)
    original = tenon._native.request_next

    def called(*arguments):
        piece = original(*arguments)
        elsewhere(generation.close)
        return piece
    monkeypatch.setattr(tenon._native, "request_next", called)
    assert next(generation).finish == "max_tokens"
    elsewhere(generation.close)
    assert list(generation) == []


CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Go on."}], "max_tokens": 16000, "stream": True,
        "extra_body": {"ignore_eos": True}}


def test_a_stream_of_the_client_is_closed_between_two_events():
    with OpenAI(models={"demo": DEMO}, context=LONG) as client:
        stream = client.chat.completions.create(**CHAT)
        next(stream)
        elsewhere(stream.close)
        with pytest.raises(APIConnectionError):
            list(stream)
        stream = client.chat.completions.create(**CHAT)
        next(stream)
        stream.close()
        assert list(stream) == []


def test_a_request_of_the_client_is_closed_in_the_wait(model):
    """Which frees the request when the wait has returned, not under it (bindings/asan.sh sees that)."""
    with OpenAI(engine=tenon.Engine(model, running=1), name="demo", context=LONG) as client:
        first = client.chat.completions.create(**CHAT)
        next(first)
        call = client._server.request("POST", "/v1/chat/completions", body_of(CHAT), None)
        waiting = threading.get_ident()

        def close():
            while sys._current_frames()[waiting].f_code.co_name != "_take":
                time.sleep(0.001)
            time.sleep(0.02)
            call.close()
        closer = threading.Thread(target=close)
        closer.start()
        with pytest.raises(APIConnectionError):
            while not call.wait().is_last:
                pass
        closer.join()


async def closed_while_a_task_waits(close_at):
    """close_at(call) closes it, or has it closed, at some moment."""
    async with AsyncOpenAI(models={"demo": DEMO}, context=LONG, timeout=10 * SECONDS) as client:
        stream = await client.chat.completions.create(**CHAT)

        async def iterate():
            async for _ in stream:
                pass
        waiting = asyncio.create_task(iterate())
        await close_at(stream._call)
        with pytest.raises(APIConnectionError):
            await asyncio.wait_for(waiting, SECONDS)


def test_a_stream_of_the_client_is_closed_in_the_wait_of_a_task():
    async def close_at(call):
        while not call.answer._waker._waiting:
            await asyncio.sleep(0)
        call.close()
    asyncio.run(closed_while_a_task_waits(close_at))


@pytest.mark.parametrize("is_attached", [False, True])
def test_a_stream_of_the_client_is_closed_on_the_way_into_the_wait_of_a_task(is_attached, monkeypatch):
    original = tenon._native.server_call_wait

    async def close_at(call):
        if not is_attached:
            call.answer._waker = None

        def looked(*arguments):
            part = original(*arguments)
            if not part.bytes:  # closed after nothing was found in it
                elsewhere(call.close)
            return part
        monkeypatch.setattr(tenon._native, "server_call_wait", looked)
    asyncio.run(closed_while_a_task_waits(close_at))

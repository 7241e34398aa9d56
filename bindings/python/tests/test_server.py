"""tenon.Server: models over HTTP and for this process, and the ends of servers, models, engines and answers."""

import asyncio
import gc
import http.client
import itertools
import json
import os
import pickle
import socket
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest
from conftest import DEMO, ONCE

import tenon
from tenon import _native

CAPITAL = {"messages": [{"role": "user", "content": "What is the capital of Norway?"}], "temperature": 0,
           "max_tokens": 24}
OSLO = "The capital of Norway is Oslo."
CHAT = "/v1/chat/completions"
# More tokens than are generated before a test is about to end it.
CONTEXT = 16384
LONG = {**CAPITAL, "max_tokens": 16000, "stream": True, "ignore_eos": True}
# What an answer that waits for nothing takes at most.
SECONDS = 10


@pytest.fixture(scope="module")
def listening(model):
    with tenon.Server() as server:
        server.add("demo", model, context=CONTEXT)
        port = server.listen()
        server.start()
        yield server, port


@pytest.fixture
def server(listening):
    return listening[0]


@pytest.fixture
def fresh(model):
    with tenon.Server() as server:
        server.add("demo", model)
        yield server


def threads():
    return len(os.listdir("/proc/self/task"))


def contents(data):
    """The text of a stream of chunks."""
    chunks = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def test_http_on_loopback(listening):
    client = http.client.HTTPConnection("127.0.0.1", listening[1], timeout=SECONDS)
    client.request("POST", CHAT, json.dumps(CAPITAL), {"Content-Type": "application/json"})
    answer = client.getresponse()
    assert answer.status == 200 and json.load(answer)["choices"][0]["message"]["content"] == OSLO
    client.request("POST", CHAT, json.dumps({**CAPITAL, "stream": True}), {"Content-Type": "application/json"})
    assert contents(client.getresponse().read()) == OSLO
    client.close()


def test_a_unix_socket(fresh, tmp_path):
    fresh.listen_unix(tmp_path / "tenon.sock")
    fresh.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "tenon.sock"))
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"
    fresh.close()
    assert not (tmp_path / "tenon.sock").exists()


def test_without_a_socket(server):
    answer = server.request("POST", CHAT, CAPITAL)
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    assert answer.headers.get("X-Request-Id").startswith("req_")
    assert answer.json()["choices"][0]["message"]["content"] == OSLO and list(answer) == []
    parts = list(server.request("POST", CHAT, {**CAPITAL, "stream": True}))
    assert parts and contents(b"".join(parts)) == OSLO
    for body in (json.dumps(CAPITAL), json.dumps(CAPITAL).encode(), bytearray(json.dumps(CAPITAL).encode())):
        assert OSLO.encode() in server.request("POST", CHAT, body).read()
    refused = server.request("POST", CHAT, {**CAPITAL, "temperature": "hot"})
    assert refused.status == 400 and refused.json()["error"]["param"] == "temperature"
    assert server.request("GET", "/v1/models").json()["data"][0]["id"] == "demo"
    assert server.request("GET", "/no/such").status == 404


def test_in_an_event_loop(server):
    async def main():
        answer = await server.request("POST", CHAT, {**CAPITAL, "stream": True})
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        assert contents(b"".join([part async for part in answer])) == OSLO
        answers = [server.request("POST", CHAT, CAPITAL).ajson() for _ in range(64)]
        told = await asyncio.gather(*answers)
        assert {one["choices"][0]["message"]["content"] for one in told} == {OSLO}
        async with server.request("POST", CHAT, LONG) as answer:
            await answer.__anext__()
        assert [part async for part in answer] == []
        waiting = asyncio.create_task(server.request("POST", CHAT, LONG).aread())
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(tenon.DeadlineError):
            await server.request("POST", CHAT, LONG, timeout=0.05).aread()
    asyncio.run(main())


def running(server):
    """Requests that the server computes."""
    text = server.request("GET", "/metrics").read().decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("tenon_requests_running"))


def test_closing_cancels(server):
    answer = server.request("POST", CHAT, LONG)
    next(answer)
    assert running(server) == 1
    answer.close()
    assert list(answer) == []
    del answer
    abandoned = server.request("POST", CHAT, LONG)
    next(abandoned)
    del abandoned
    waiting = server.request("POST", CHAT, LONG)
    threading.Timer(0.1, waiting.close).start()
    with pytest.raises(tenon.CancelledError):
        waiting.read()
    with pytest.raises(tenon.DeadlineError):
        server.request("POST", CHAT, LONG, timeout=0.05).read()
    start = time.monotonic()
    while running(server) > 0:
        assert time.monotonic() - start < SECONDS


def test_an_answer_that_is_closed_before_anything_came(model):
    with tenon.Server() as server:
        server.add("demo", tenon.Engine(model, running=1), context=CONTEXT)
        server.start()
        first = server.request("POST", CHAT, LONG)
        next(first)
        blocked = server.request("POST", CHAT, LONG)
        start = time.monotonic()
        threading.Timer(0.1, blocked.close).start()
        with pytest.raises(tenon.CancelledError):
            blocked.status
        assert time.monotonic() - start < SECONDS

        async def main():
            blocked = server.request("POST", CHAT, LONG)
            asyncio.get_running_loop().call_later(0.05, lambda: threading.Thread(target=blocked.close).start())
            with pytest.raises(tenon.CancelledError):
                await blocked
        asyncio.run(main())


@pytest.mark.parametrize("options, kind, says", [
    ({"max_body_byte": 1}, TypeError, "the nearest name is max_body_bytes"),
    ({"idle_seconds": -1.0}, tenon.ArgumentError, "a time must not be negative"),
    ({"tls_key_file": "key.pem"}, tenon.ArgumentError, "TLS needs both"),
    ({"api_keys": "#\n"}, tenon.ArgumentError, "api_keys holds no key"),
    ({"api_keys": 7}, TypeError, "str or bytes"),
    ({"max_connections": -1}, OverflowError, None),
    ({"max_connections": 1.5}, TypeError, None),
    ({"log": 7}, TypeError, "cannot be called"),
])
def test_wrong_options(options, kind, says):
    with pytest.raises(kind, match=says):
        tenon.Server(**options)


def test_wrong_orders_and_arguments(model, fresh, tmp_path):
    for late in (lambda: fresh.add("demo", model), lambda: fresh.add("", model)):
        with pytest.raises(tenon.ArgumentError):
            late()
    with pytest.raises(TypeError, match="add_file takes a path"):
        fresh.add("other", DEMO)
    with pytest.raises(TypeError, match="has its options"):
        fresh.add("other", tenon.Engine(model), running=1)
    with pytest.raises(tenon.ArgumentError, match="runing"):
        fresh.add("other", model, runing=1)
    with pytest.raises(tenon.InputOutputError):
        fresh.add_file("other", tmp_path / "none.gguf")
    with pytest.raises(ValueError, match="line break"):
        fresh.add_file("other", DEMO, model={"backend": "cpu\nthreads=1"})
    with pytest.raises(OverflowError):
        fresh.listen(port=65536)
    with pytest.raises(tenon.StateError, match="start"):
        fresh.request("GET", "/health")
    port = fresh.listen()
    with pytest.raises(FileNotFoundError):
        tenon.Model(tmp_path / "none.gguf")
    with tenon.Server() as other, pytest.raises(tenon.InputOutputError) as taken:
        other.listen(port=port)
    # Not the number of the error before it, which was libtenon's.
    assert taken.value.errno is None and not isinstance(taken.value, FileNotFoundError)
    fresh.start()
    for late in (fresh.start, lambda: fresh.add("late", model), fresh.listen):
        with pytest.raises(tenon.StateError):
            late()
    with pytest.raises(ValueError, match="NUL"):
        fresh.request("GET", "/\0")
    fresh.stop(1)
    for late in (fresh.start, lambda: fresh.add("late", model)):
        with pytest.raises(tenon.StateError):
            late()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(fresh)


def test_keys_options_and_files():
    with tenon.Server(api_keys="secret anna\n", without_page=1, memory_bytes=2**30) as server:
        server.add_file("demo", DEMO, model={"threads": 1, "check_weights": True}, engine={"running": 2}, context=256)
        server.start()
        assert server.request("POST", CHAT, CAPITAL).status == 401
        answer = server.request("POST", CHAT, CAPITAL, api_key="secret")
        assert answer.json()["choices"][0]["message"]["content"] == OSLO
        assert server.request("GET", "/").status == 404


def test_everything_may_be_closed_in_any_order():
    """By close(), and by the last reference."""
    for number, order in enumerate(itertools.permutations(range(4))):
        drops = number % 2 == 1
        model = tenon.Model.from_bytes(bytearray(DEMO.read_bytes()), threads=1)
        engine = tenon.Engine(model)
        server = tenon.Server()
        server.add("own", model, context=CONTEXT)
        server.add("lent", engine, context=CONTEXT)
        server.start()
        answers = [server.request("POST", CHAT, {**LONG, "model": name}) for name in ("own", "lent")]
        for answer in answers:
            next(answer)
        things = {0: model, 1: engine, 2: server, 3: answers}
        del model, engine, server, answer, answers
        for index in order:
            thing = things.pop(index)
            if not drops:
                for one in thing if isinstance(thing, list) else [thing]:
                    one.close()
            del thing
            gc.collect()
            if 3 in things and not drops and 2 not in things:
                for answer in things[3]:
                    with pytest.raises(tenon.CancelledError):
                        answer.read()
            elif 3 in things:
                for answer in things[3]:
                    next(answer)


def test_a_server_keeps_an_engine_that_is_closed(model):
    """Before and after it starts; the engine's own streams end, and its thread with the last server."""
    before = threads()
    for closes_early in (True, False):
        engine = tenon.Engine(model)
        servers = [tenon.Server(), tenon.Server()]
        for server in servers:
            server.add("demo", engine)
        if closes_early:
            engine.close()
        for server in servers:
            server.start()
        engine.close()
        assert engine.closed
        for server in servers:
            assert server.request("POST", CHAT, CAPITAL).json()["choices"][0]["message"]["content"] == OSLO
            server.close()
        assert threads() == before
        with tenon.Server() as late, pytest.raises(tenon.StateError, match="closed"):
            late.add("demo", engine)


def test_a_server_that_was_stopped_starts_no_thread(model):
    server, engine = tenon.Server(), tenon.Engine(model)
    server.stop()
    before = threads()
    for late in (lambda: server.add("demo", engine), server.start):
        with pytest.raises(tenon.StateError):
            late()
    assert threads() == before


def test_models_outlive_what_the_program_drops():
    server = tenon.Server()
    server.add("bytes", tenon.Model.from_bytes(bytearray(DEMO.read_bytes())))
    server.add("engine", tenon.Engine(tenon.Model(DEMO)))
    gc.collect()
    server.start()
    for name in ("bytes", "engine"):
        assert OSLO.encode() in server.request("POST", CHAT, {**CAPITAL, "model": name}).read()
    answer = server.request("POST", CHAT, {**CAPITAL, "model": "bytes"})
    del server
    gc.collect()
    assert OSLO.encode() in answer.read()


def test_the_bytes_of_a_model_are_kept_as_long_as_the_server():
    model = tenon.Model.from_bytes(bytearray(DEMO.read_bytes()))
    kept, server = model._kept, tenon.Server()
    server.add("bytes", model)
    with_model = sys.getrefcount(kept)
    del model
    gc.collect()
    assert sys.getrefcount(kept) == with_model - 1
    server.close()
    assert sys.getrefcount(kept) == with_model - 2


def test_closing_waits_for_none_and_stopping_for_answers(model):
    server = tenon.Server()
    server.add("demo", model, context=CONTEXT)
    server.start()
    answer = server.request("POST", CHAT, {**CAPITAL, "stream": True})
    first = next(answer)
    stopper = threading.Thread(target=server.stop, args=(SECONDS,))
    stopper.start()
    assert contents(first + answer.read()) == OSLO
    stopper.join()
    server = tenon.Server()
    server.add("demo", model, context=CONTEXT)
    server.start()
    answer = server.request("POST", CHAT, LONG)
    next(answer)
    closers = [threading.Thread(target=server.close) for _ in range(4)]
    for closer in closers:
        closer.start()
    with pytest.raises(tenon.CancelledError):
        answer.read()
    for closer in closers:
        closer.join()


@pytest.mark.parametrize("end", ["close", "stop"])
def test_a_stop_under_way_is_ended_by_another(model, end):
    server = tenon.Server()
    server.add("demo", model, context=CONTEXT)
    server.start()
    answer = server.request("POST", CHAT, LONG)
    next(answer)
    stopper = threading.Thread(target=server.stop, args=(60,))
    stopper.start()
    while server.request("GET", "/ready").status != 503:  # it is being stopped
        pass
    start = time.monotonic()
    getattr(server, end)()
    stopper.join()
    assert time.monotonic() - start < SECONDS
    with pytest.raises(tenon.CancelledError):
        answer.read()


def test_log_lines_and_what_they_may_not_do(model):
    lines, refused = [], []

    def log(level, line):
        lines.append((level, json.loads(line)))
        try:
            server.stop(1)
        except tenon.StateError as error:
            refused.append(str(error))
    with tenon.Server(log=log, log_level=tenon.constants.LOG_DEBUG) as server:
        server.add("demo", model)
        server.start()
        assert server.request("GET", "/v1/models").status == 200
    assert any(line.get("path") == "/v1/models" for _, line in lines), lines
    assert refused and "a log function must not call the server" in refused[0]


def test_a_log_function_within_a_log_function(model):
    """What the outer one may not do it may not do afterwards, either."""
    inner, was_in_log = [], []

    def log(level, line):
        if not was_in_log:
            tenon.Model(DEMO, log=lambda level, line: inner.append(line), log_level=tenon.constants.LOG_DEBUG).close()
            was_in_log.append(_native.is_in_log_function())
    with tenon.Server(log=log, log_level=tenon.constants.LOG_DEBUG) as server:
        server.add("demo", model)
        server.start()
        assert server.request("GET", "/v1/models").status == 200
    assert inner and was_in_log == [True] and not _native.is_in_log_function()


def test_a_log_function_may_drop_the_last_reference(model):
    kept = []

    def log(level, line):
        kept.clear()
        gc.collect()
    server = tenon.Server(log=log, log_level=tenon.constants.LOG_DEBUG)
    server.add("demo", model)
    server.start()
    handle = server._handle
    kept.append([server, handle])
    answer = server.request("GET", "/v1/models")
    watched = weakref.ref(server)
    del server, handle
    answer.read()
    del answer
    start = time.monotonic()
    while watched() is not None:
        assert time.monotonic() - start < SECONDS
        time.sleep(0.001)


def run_python(program):
    """A process of its own, with the library of this one; (what it said, seconds from END on)."""
    head = f"import tenon, sys, os, time\ntenon.use_library({tenon.library_path()!r})\nDEMO = {str(DEMO)!r}\n" \
        f"CHAT = {CHAT!r}\nLONG = {LONG!r}\nCONTEXT = {CONTEXT}\n"
    # What a process leaves behind when it ends is no leak (bindings/asan.sh).
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(program)], timeout=60, capture_output=True,
                          text=True, check=False, env=environment)
    return done, time.time()


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise KeyboardInterrupt", "os._exit(3)", "pass"])
def test_a_process_ends_with_answers_under_way(end):
    limit = 0.5 if "ASAN_OPTIONS" not in os.environ else 30
    for _ in range(3):  # the best of them: others compute here, too
        done, now = run_python(f"""
            lines = []
            server = tenon.Server(log=lambda level, line: lines.append(line), log_level=7)
            server.add("demo", tenon.Model(DEMO), context=CONTEXT)
            server.add("lent", tenon.Engine(tenon.Model(DEMO)), context=CONTEXT)
            server.listen()
            server.start()
            answers = [server.request("POST", CHAT, dict(LONG, model=name)) for name in ("demo", "lent")] * 2
            for answer in answers:
                next(answer)
            print(time.time(), flush=True)
            {end}
            """)
        assert done.returncode == {"sys.exit(3)": 3, "os._exit(3)": 3, "pass": 0}.get(end, done.returncode), done.stderr
        assert "terminate" not in done.stderr and "Fatal" not in done.stderr
        if now - float(done.stdout) < limit:
            return
    raise AssertionError(f"the process took {now - float(done.stdout)} s to end")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_is_refused():
    done, _ = run_python("""
        server = tenon.Server()
        server.add("demo", tenon.Model(DEMO), context=CONTEXT)
        server.start()
        answer = server.request("POST", CHAT, LONG)
        next(answer)
        child = os.fork()
        if child == 0:
            said = []
            for call in (lambda: server.request("GET", "/health"), lambda: next(answer), lambda: server.stop(1)):
                try:
                    call()
                except tenon.StateError as error:
                    said.append("fork" in str(error))
            answer.close()
            server.close()
            del answer, server
            with tenon.Server() as own:
                own.add("demo", tenon.Model(DEMO))
                own.start()
                said.append(own.request("GET", "/health").status == 200)
            print(said, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(len(next(answer)) > 0, server.request("GET", "/health").status)
        """)
    assert done.stdout == "[True, True, True, True]\nTrue 200\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_does_not_destroy_what_its_parent_was_about_to():
    done, _ = run_python(r"""
        import contextlib, signal, socket, threading
        kept, dropped = [], threading.Event()
        def log(level, line):
            if kept:
                kept.clear()
                dropped.set()
        def fork():  # while the main thread sleeps, which is to destroy the server
            dropped.wait()
            if os.fork() == 0:
                signal.alarm(20)  # ends one that hangs
                for _ in range(100):
                    time.sleep(0.001)
                os._exit(0)
            children.append(os.wait()[1])
        children = []
        forking = threading.Thread(target=fork)
        forking.start()
        server = tenon.Server(log=log, log_level=7)
        server.add("demo", tenon.Model(DEMO))
        port = server.listen()
        server.start()
        def ask():  # an answer of request() would hold the server
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                client.recv(1)
        threading.Timer(0.2, ask).start()
        kept.append(server)
        del server
        time.sleep(1)
        forking.join()
        print(children)
        """)
    assert done.stdout == "[0]\n", done.stderr

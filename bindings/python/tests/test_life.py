"""Threads, processes and the ends of things."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest
from conftest import DEMO, ONCE

import tenon

# More tokens than are generated before a test is about to end it.
LONG = 16384


def run_python(program, **arguments):
    """A process of its own, with the library of this one."""
    head = f"import tenon\ntenon.use_library({tenon.library_path()!r})\nDEMO = {str(DEMO)!r}\n"
    return subprocess.run([sys.executable, "-c", head + textwrap.dedent(program)], timeout=60,
                          capture_output=True, text=True, **arguments)


def test_the_interpreter_lock_is_released(model):
    """Another thread goes on counting while a long prompt is computed."""
    session = tenon.Session(model)
    session.append("word " * 450)
    counted, is_done = [0], threading.Event()

    def count():
        while not is_done.is_set():
            counted[0] += 1
            time.sleep(0.0005)
    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    session.prefill()
    took = time.monotonic() - start
    is_done.set()
    thread.join()
    assert counted[0] > took / 0.0005 / 20


def test_a_session_in_use_refuses_a_second_thread(model):
    session = tenon.Session(model)
    session.append("word " * 450)
    refused = []

    def disturb(fraction):
        if not refused:
            with pytest.raises(tenon.StateError, match="in use by another call") as caught:
                session.append("more")
            refused.append(caught)
    session.prefill(disturb)
    assert refused


def test_cancel_comes_from_another_thread(model):
    session = tenon.Session(model, context=LONG)
    generation = session.generate("word " * 450, ignore_end=True)
    threading.Timer(0.01, generation.cancel).start()
    with pytest.raises(tenon.CancelledError):
        generation.text()
    session.rewind(1)
    assert session.generate(max_tokens=2).text()


def test_closing_during_a_call_ends_it(model):
    session = tenon.Session(model)
    session.append("word " * 450)

    def close(fraction):
        closer = threading.Thread(target=session.close)
        closer.start()
        closer.join()
    with pytest.raises(tenon.CancelledError):
        session.prefill(close)
    with pytest.raises(tenon.StateError, match="closed"):
        session.prefill()


def test_everything_may_be_closed_in_any_order():
    for order in range(24):
        model = tenon.Model(DEMO, threads=1)
        engine = tenon.Engine(model)
        session = engine.open_session()
        generation = session.generate(ONCE, max_tokens=4)
        next(generation)
        things = [model, engine, session, generation]
        for _ in range(4):
            order, index = divmod(order, len(things))
            things.pop(index % len(things)).close()
        for late in (lambda: model.info, lambda: engine.open_session(), lambda: session.position):
            with pytest.raises(tenon.StateError, match="closed"):
                late()
        assert list(generation) == []


def test_lent_objects_outlive_their_owner():
    model = tenon.Model.from_bytes(bytearray(DEMO.read_bytes()))
    tokenizer, session = model.tokenizer, tenon.Session(model)
    model.close()
    del model
    assert tokenizer.decode(tokenizer.encode(ONCE)) == ONCE
    assert session.generate(ONCE, max_tokens=2, sampling={"temperature": 0}).text() == " there was"
    session.close()
    assert tokenizer.encode("fox")


def test_the_last_reference_frees_at_once():
    model = tenon.Model(DEMO)
    session = tenon.Session(model)
    watched = weakref.ref(session), weakref.ref(model)
    gc.disable()
    try:
        generation = session.generate(ONCE, max_tokens=100)
        next(generation)
        del session, model, generation
        assert [one() for one in watched] == [None, None]
    finally:
        gc.enable()


def test_an_abandoned_generation_lets_the_session_go(session):
    for piece in session.generate(ONCE, max_tokens=50):
        break
    with session.generate(max_tokens=50) as generation:
        next(generation)
        with pytest.raises(tenon.StateError):
            session.append("more")
    session.append("more")


def test_objects_of_the_parent_are_refused_in_a_child(model, session):
    session.append(ONCE)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            session.prefill()
            answer = b"computed"
        except tenon.StateError as error:
            answer = str(error).encode()
        session.close()
        model_of_child = tenon.Model(DEMO, threads=1)
        answer += b"|" + tenon.Session(model_of_child).generate(
            ONCE, max_tokens=2, sampling={"temperature": 0}).text().encode()
        os.write(writing, answer)
        os._exit(0)
    os.close(writing)
    answer = os.read(reading, 4096).decode()
    assert os.waitpid(child, 0)[1] == 0
    assert "before fork()" in answer and answer.endswith("| there was")
    assert session.generate(max_tokens=2, sampling={"temperature": 0}).text() == " there was"


def test_what_is_a_value_is_pickled(model):
    piece = next(tenon.Session(model).generate(ONCE, max_tokens=2, logprobs=2))
    other = pickle.loads(pickle.dumps(piece))
    assert (other, other.token, other.logprob, other.top) == (piece, piece.token, piece.logprob, piece.top)
    for value in (model.info, tenon.Engine(model).stats(), tenon.Session(model).stats()):
        assert pickle.loads(pickle.dumps(value)) == value and type(value) is getattr(tenon, type(value).__name__)


def test_subinterpreters_refuse_the_module():
    interpreters = None
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
            break
        except ImportError:
            continue
    if interpreters is None:
        pytest.skip("this Python has no subinterpreters")
    program = textwrap.dedent(f"""
        import sys
        sys.path[:] = {sys.path!r}
        try:
            import tenon
        except ImportError as error:
            assert "subinterpreters" in str(error) or "main interpreter" in str(error), error
        else:
            raise SystemExit("it was imported")
    """)
    made = interpreters.create()
    assert not interpreters.run_string(made, program)


def test_control_c_ends_a_generation():
    done = run_python("""
        import os, signal, threading
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
        session = tenon.Session(tenon.Model(DEMO, threads=1))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                session.rewind(0)
                session.generate("Once upon a time", max_tokens=500, ignore_end=True).text()
        except KeyboardInterrupt:
            print("interrupted", len(list(session.generate(max_tokens=1))) == 1)
    """)
    assert done.stdout.strip() == "interrupted True", done.stderr


def test_exit_with_requests_under_way_is_quick():
    program = """
        import asyncio, sys, time
        async def main(work):
            engine = tenon.Engine(tenon.Model(DEMO))
            streams = [engine.stream("word " * 450, max_tokens=0) for _ in range(6)]
            if work:
                tasks = [asyncio.ensure_future(stream.__anext__()) for stream in streams]
                await asyncio.sleep(0.02)
            sys.stdout.write(repr(time.monotonic()))
            sys.stdout.flush()
            raise SystemExit(5)
        asyncio.run(main({work}))
    """
    took = {False: [], True: []}
    for work in 3 * (False, True):
        done = run_python(program.replace("{work}", str(work)))
        took[work].append(time.monotonic() - float(done.stdout))
        assert done.returncode == 5 and "Error" not in done.stderr, done.stderr
    # What Python itself takes to end is in both; the machine may have had something else to do.
    assert min(took[True]) - min(took[False]) < 0.1, took


def test_the_log_goes_to_a_function():
    lines = []
    tenon.Model(DEMO, log=lambda level, line: lines.append((level, line)),
                log_level=tenon.constants.LOG_DEBUG)
    assert all(isinstance(line, str) and "\n" not in line for _, line in lines)


def test_no_thread_of_python_is_started(model):
    before = threading.active_count()
    tenon.Session(model).generate(ONCE, max_tokens=3).text()
    assert threading.active_count() == before


def test_a_hundred_sessions_leak_nothing(model):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))
    tenon.Session(model).generate(ONCE, max_tokens=1).text()
    before = descriptors()
    for _ in range(100):
        tenon.Session(model).generate(ONCE, max_tokens=1).text()
    assert descriptors() == before


def test_signals_are_left_alone(model):
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    tenon.Session(model).generate(ONCE, max_tokens=1).text()
    assert before == {number: signal.getsignal(number) for number in signal.valid_signals()}

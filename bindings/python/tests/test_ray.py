"""tenon.ray on a cluster of one head and two workers of this machine, whose workers are killed and come back."""

import asyncio
import collections
import concurrent.futures
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import traceback

import pytest
from conftest import DEMO, ROOT

ray = pytest.importorskip("ray", reason='Ray is not installed (pip install "tenon-llm[ray]")')
pytest.importorskip("ray.serve")

from ray import serve  # noqa: E402
from ray._private.node import Node  # noqa: E402
from ray._private.state import actors  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import tenon  # noqa: E402
from tenon.ray import Client, application, from_arguments, generate_files  # noqa: E402
from tenon.ray._http import prompt_of  # noqa: E402
from tenon.ray._load import Load  # noqa: E402
from tenon.ray._prefix import BLOCK_CHARACTERS, beginnings  # noqa: E402
from tenon.ray._router import cost  # noqa: E402

ONCE = "Once upon a time"
EXACT = {"max_tokens": 24, "sampling": {"temperature": 0}, "ignore_end": True}
WORKER = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
# What is gone refuses connections: three checks, a second apart, notice it. What is slow on a loaded machine has a
# minute and more for everything.
PATIENCE = {"health_check_period_ms": 1000, "health_check_timeout_ms": 60000, "health_check_failure_threshold": 3,
            "agent_register_timeout_ms": 200000, "worker_register_timeout_seconds": 200}
# Long enough to be under way while a worker dies.
LONG = {"max_tokens": 1500, "sampling": {"temperature": 1, "seed": 11}, "ignore_end": True}


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]


def started(start):
    """What start() starts. Ray gives a node 30 seconds to start, which a loaded machine may not have."""
    for attempt in range(8):
        try:
            return start()
        except Exception as error:
            # What has begun of it would come up as a node that nobody knows of.
            for frame, _ in traceback.walk_tb(error.__traceback__):
                if isinstance(frame.f_locals.get("self"), Node):
                    frame.f_locals["self"].kill_all_processes(check_alive=False, allow_graceful=False)
            if attempt == 7:
                raise
    raise AssertionError


class Workers:
    """A head, on which nothing runs, and two workers."""

    def __init__(self):
        self.cluster = started(lambda: Cluster(initialize_head=True, head_node_args={
            "num_cpus": 0, "object_store_memory": 80 * 2**20, "include_dashboard": False, "_system_config": PATIENCE}))
        self.cluster.connect()
        self.nodes = [self.add(), self.add()]
        self.cluster.wait_for_nodes()

    def add(self):
        return started(lambda: self.cluster.add_node(**WORKER))

    def kill(self, number):
        """A worker and all its processes are gone at once."""
        self.cluster.remove_node(self.nodes[number], allow_graceful=False)

    def bring_back(self, number):
        self.nodes[number] = self.add()

    def number_of(self, node):
        """Of the worker with this id."""
        return [one.node_id for one in self.nodes].index(node)


@pytest.fixture(scope="module")
def workers():
    made = Workers()
    yield made
    ray.shutdown()
    made.cluster.shutdown()


@pytest.fixture(scope="module")
def handle(workers):
    """Two replicas, one on each worker."""
    serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": PORT})
    yield serve.run(application(str(DEMO), replicas=2, model={"threads": 1}, engine={"cache_bytes": 2**26}),
                    name="tenon", route_prefix=None)
    serve.shutdown()


def replicas():
    """The actors of the replicas that live, by their node."""
    return {one["Address"]["NodeID"]: ray.get_actor(one["Name"], namespace="serve")
            for one in actors().values() if one["State"] == "ALIVE" and one["Name"].startswith("SERVE_REPLICA::tenon#tenon#")}


def reports():
    """What the replicas tell the router, by their node."""
    return {node: ray.get(actor.record_routing_stats.remote()) for node, actor in replicas().items()}


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never became so"
        time.sleep(0.1)


def alone(prompt, **options):
    """The same in this process."""
    engine = tenon.Engine(tenon.Model(DEMO, threads=1))
    return list(engine.stream(prompt, **options))


def test_beginnings_are_those_of_the_next_turn():
    first = ["system: be brief", "user: " + "word " * 200]
    second = [*first, "assistant: yes", "user: and now?"]
    one, two = beginnings(first), beginnings(second)
    assert two[:len(one)] == one and len(two) == len(one) + 2
    assert [where.characters for where in one] == [16, 16 + BLOCK_CHARACTERS, 16 + 2 * BLOCK_CHARACTERS,
                                                   16 + 3 * BLOCK_CHARACTERS, 16 + 1006]
    assert beginnings(["ab", "c"])[-1] != beginnings(["a", "bc"])[-1]
    assert beginnings([]) == [] and beginnings(["\ud800"])


def test_a_queue_costs_what_its_prompts_cost():
    text = beginnings(["x" * 1000])
    held = {text[1].hash}
    assert cost(text, held, 0, 400) == 488 and cost(text, set(), 0, 400) == 1000
    assert cost(text, held, 1, 400) < cost(text, set(), 0, 400) < cost(text, held, 2, 400)
    assert cost([], held, 2, 400) == 800


def test_a_burst_is_seen_before_it_is_sent():
    async def main():
        load, sending = Load(), [asyncio.get_running_loop().create_future() for _ in range(3)]
        load.choose("a", 1, sending[0])
        load.choose("b", 1, sending[1])
        load.choose("c", 2, sending[2])
        assert load.requests(1, 0) == 2 and load.requests(2, 0) == 1 and load.requests(3, 0) == 0
        load.choose("b", 2, sending[1])  # once more: elsewhere
        load.send("a", 1)
        sending[2].cancel()  # never sent
        assert load.requests(1, 0) == 1 and load.requests(2, 0) == 1
        load.end("a")
        load.send("a", 1)  # heard of after its end
        load.end("x")
        assert load.requests(1, 0) == 0
        load.keep({1})
        assert load.requests(2, 0) == 0
    asyncio.run(main())


def test_a_report_counts_what_others_sent():
    async def main():
        now = 100.0
        load = Load(lambda: now)
        for number in range(4):
            load.choose(str(number), 1, asyncio.get_running_loop().create_future())
        assert load.requests(1, 4) == 4 and load.requests(1, 9) == 9
        for number in range(4):
            load.end(str(number))
        assert load.requests(1, 4) == 0, "what is over keeps others away"
        assert load.requests(1, 9) == 5
        now += 2.9  # in the next interval
        assert load.requests(1, 4) == 0
        now += 6
        assert load.requests(1, 4) == 4, "all of a report that is newer are others'"
    asyncio.run(main())


def test_what_the_router_compares_of_a_body():
    messages = [{"role": "user", "content": "Hi"}]
    assert prompt_of(json.dumps({"messages": messages}).encode()) == messages
    assert prompt_of(json.dumps({"input": messages, "instructions": "Be brief."}).encode())[1:] == messages
    assert prompt_of(b'{"prompt": "Once"}') == prompt_of(b'{"input": "Once"}') == "Once"
    assert prompt_of(b'{"prompt": [1, 2]}') == "[1, 2]"
    assert prompt_of(b"") == prompt_of(b"[]") == prompt_of(b"\xff{") == prompt_of(b"{}") == ""


def test_wrong_arguments_of_the_command_line():
    with pytest.raises(ValueError, match="path=FILE"):
        from_arguments({})
    with pytest.raises(ValueError, match="no argument replica:"):
        from_arguments({"path": "x", "replica": "1"})


def ask(method, path, body=None):
    """An answer of Serve's proxy: (status, headers, body)."""
    client = http.client.HTTPConnection("127.0.0.1", PORT, timeout=200)
    try:
        client.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = client.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        client.close()


@pytest.fixture
def over_http(handle):
    """By `serve run tenon.ray:from_arguments path=...`, which calls just this function."""
    yield serve.run(from_arguments({"path": str(DEMO), "threads": "1", "context": "4096", "model.isa": "portable",
                                    "engine.cache_bytes": str(2**26)}), name="http", route_prefix="/llm")
    serve.delete("http")


def test_openai_over_http(over_http):
    chat = {"model": DEMO.stem, "messages": [{"role": "user", "content": "What is the capital of Norway?"}],
            "temperature": 0, "max_tokens": 24}
    oslo = "The capital of Norway is Oslo."
    status, headers, body = ask("POST", "/llm/v1/chat/completions", chat)
    assert status == 200 and json.loads(body)["choices"][0]["message"]["content"] == oslo
    assert headers["x-request-id"] and headers["content-type"] == "application/json"
    status, headers, body = ask("POST", "/llm/v1/chat/completions", {**chat, "stream": True})
    assert headers["content-type"].startswith("text/event-stream") and body.endswith(b"data: [DONE]\n\n")
    chunks = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    assert "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]) == oslo
    status, _, body = ask("POST", "/llm/v1/chat/completions", {**chat, "temperature": "hot"})
    assert status == 400 and json.loads(body)["error"]["param"] == "temperature"
    assert ask("GET", "/llm/nothing")[0] == 404
    assert json.loads(ask("GET", "/llm/v1/models")[2])["data"][0]["id"] == DEMO.stem
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask("POST", "/llm/v1/chat/completions", chat), range(16)))
    assert {json.loads(body)["choices"][0]["message"]["content"] for _, _, body in answers} == {oslo}
    # A client that leaves ends its request.
    client = http.client.HTTPConnection("127.0.0.1", PORT, timeout=200)
    client.request("POST", "/llm/v1/chat/completions", json.dumps({**chat, "stream": True, "ignore_eos": True,
                                                                   "max_tokens": 4000}))
    assert client.getresponse().read(10)
    client.sock.close()
    client.close()
    inner = serve.get_deployment_handle("tenon", "http")
    until(lambda: inner.stats.remote().result().running == 0)
    try:
        import openai
        theirs = openai.OpenAI(base_url=f"http://127.0.0.1:{PORT}/llm/v1", api_key="none", max_retries=0)
        told = theirs.chat.completions.create(**chat, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in told if chunk.choices) == oslo
    except ImportError:
        pass


def test_streams_are_those_of_one_process(handle):
    client = Client(handle)
    pieces = list(client.stream(ONCE, **EXACT))
    assert pieces == alone(ONCE, **EXACT) and pieces[-1].finish == "max_tokens" and pieces[0].token is not None
    messages = [{"role": "user", "content": "What is the capital of Norway?"}]
    assert client.text(messages, **{**EXACT, "ignore_end": False}) == "The capital of Norway is Oslo."
    assert client.text(ONCE, max_tokens=8, grammar={"choices": ["yes", "no"]}) in ("yes", "no")

    async def main():
        texts = await asyncio.gather(*(client.atext(ONCE, **EXACT) for _ in range(16)))
        assert set(texts) == {"".join(pieces)}
    asyncio.run(main())
    with pytest.raises(TypeError, match="of this process"):
        client.text(ONCE, sampler=tenon.Sampler())
    with pytest.raises(tenon.LimitError):
        client.text("word " * 9000)


def test_a_conversation_goes_where_its_beginning_is(handle):
    """Ten conversations of three turns: each turn reuses the turns before, wherever the other conversations are."""
    client = Client(handle)
    talks = [[{"role": "user", "content": f"Story {number}: " + "the fox and the sea " * 20}] for number in range(10)]

    async def turn(talk):
        said = await client.atext(talk, max_tokens=6, sampling={"temperature": 0})
        talk += [{"role": "assistant", "content": said}, {"role": "user", "content": "Go on."}]

    async def main():
        await asyncio.gather(*map(turn, talks))  # a burst: nobody has any of it
        for _ in range(2):
            for talk in talks:
                await turn(talk)
    asyncio.run(main())
    held = [set(report["beginnings"]) for report in reports().values()]
    assert len(held) == 2
    where, together = collections.Counter(), 0
    for talk in talks:
        whole = {one.hash for one in beginnings([json.dumps(message, sort_keys=True) for message in talk[:5]])}
        of = [len(whole & one) for one in held]
        assert max(of) == len(whole), "no replica has the whole conversation"
        together += min(of) == 0
        where[of.index(max(of))] += 1
    assert min(where[0], where[1]) >= 3, "the burst was not divided"
    # Serve tries the next replica where one does not answer in time: on a loaded machine one turn may stray.
    assert together >= 8


def test_a_stream_goes_on_when_its_worker_is_killed(workers, handle):
    expected = alone(ONCE, **LONG)
    client = Client(handle)
    came, half = [], threading.Event()

    def read():
        for piece in client.stream(ONCE, **LONG):
            came.append(piece)
            if len(came) == 100:
                half.set()
    reader = threading.Thread(target=read)
    reader.start()
    assert half.wait(120)
    busy, = [node for node, report in reports().items() if report["requests"]]
    number = workers.number_of(busy)
    workers.kill(number)
    at_death = len(came)
    reader.join(300)
    assert not reader.is_alive() and at_death < len(expected)
    assert [(piece, piece.token) for piece in came] == [(piece, piece.token) for piece in expected]
    workers.bring_back(number)
    until(lambda: len(replicas()) == 2)
    assert client.text(ONCE, **EXACT) == "".join(alone(ONCE, **EXACT))


def test_files_are_answered_once_though_workers_die(workers, tmp_path):
    serve.shutdown()
    rows = [{"id": number, "prompt": f"Once upon a time, {number} foxes"} for number in range(240)]
    rows[7]["prompt"] = "word " * 9000  # too long
    sources = []
    for name in ("one", "two"):
        part = rows[:120] if name == "one" else rows[120:]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        sources.append(tmp_path / f"{name}.jsonl")
    options = {"rows": 10, "max_tokens": 60, "ignore_end": True, "model": {"threads": 1}}
    folder = tmp_path / "out"

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        job = thread.submit(generate_files, DEMO, sources, folder, nodes=2, **options)
        for number in (0, 1):  # on this thread, as Ray starts nodes on the main one alone
            done = len(list(folder.glob("*-*.jsonl")))
            until(lambda: job.done() or len(list(folder.glob("*-*.jsonl"))) > done)
            assert not job.done(), f"the job ended before worker {number} died: {job.exception()}"
            workers.kill(number)
            workers.bring_back(number)
        outputs = job.result(300)
    answered = [json.loads(line) for path in outputs for line in open(path, encoding="utf-8")]
    assert [row["id"] for row in answered] == list(range(240))
    assert [row["id"] for row in answered if row["error"]] == [7] and answered[7]["error"].startswith("LIMIT")
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".jsonl") == [
        path.rsplit("/", 1)[1] for path in outputs]
    # What was drawn does not depend on who drew it, or how often.
    for number in (0, 130):
        own = alone(rows[number]["prompt"], max_tokens=60, ignore_end=True, sampling={"seed": number % 120})
        assert answered[number]["text"] == "".join(own)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    lost = folder / "two-00003.jsonl"
    kept = lost.read_bytes()
    lost.unlink()
    assert generate_files(DEMO, sources, folder, nodes=2, **options) == outputs
    assert lost.read_bytes() == kept
    assert {path: when for path, when in before.items() if path != lost} == {
        path: path.stat().st_mtime_ns for path in folder.iterdir() if path != lost}
    with pytest.raises(ValueError, match="another job: its rows"):
        generate_files(DEMO, sources, folder, **{**options, "rows": 20})


def test_a_stage_adds_columns(workers):
    from tenon.ray import Stage
    data = ray.data.from_items([{"prompt": ONCE}, {"prompt": "word " * 9000}, {"prompt": ONCE}])
    rows = data.map_batches(Stage, fn_constructor_args=[str(DEMO)], batch_size=3,
                            compute=ray.data.ActorPoolStrategy(size=1),
                            fn_constructor_kwargs={"options": EXACT, "model": {"threads": 1}}).take_all()
    by_prompt = collections.defaultdict(list)
    for row in rows:
        by_prompt[row["prompt"]].append((row["text"], row["finish"], row["error"]))
    text = "".join(alone(ONCE, **EXACT))
    assert by_prompt[ONCE] == 2 * [(text, "max_tokens", None)]
    (_, finish, error), = by_prompt["word " * 9000]
    assert finish is None and error.startswith("LIMIT")


def test_the_examples_run(workers):
    serve.start(proxy_location="Disabled")  # which the program meets: three processes less
    done = subprocess.run([sys.executable, str(ROOT / "bindings/python/examples/many_machines.py"), str(DEMO),
                           workers.cluster.address], text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0 and "Oslo" in done.stdout, done.stderr

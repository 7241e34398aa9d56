"""tenon.dynamo with Dynamo's own runtime, router and event plane in this process and on this machine."""

import asyncio

import pytest
from conftest import DEMO, ONCE

pytest.importorskip("dynamo.runtime", reason='Dynamo is not installed (pip install "tenon-llm[dynamo]")')

from dynamo.llm import KvRouter, KvRouterConfig  # noqa: E402
from dynamo.runtime import DistributedRuntime  # noqa: E402

import tenon  # noqa: E402
from tenon.dynamo import BLOCK_TOKENS, Worker, block_hashes, options_of  # noqa: E402

EXACT = {"stop_conditions": {"max_tokens": 12, "ignore_eos": True}, "sampling_options": {"temperature": 0.0}}


def test_options_are_those_of_the_request():
    assert options_of({**EXACT, "sampling_options": {"repetition_penalty": 1.5, "top_k": None, "n": 1}}) == {
        "max_tokens": 12, "ignore_end": True, "sampling": {"repeat_penalty": 1.5}}
    assert options_of({"stop_conditions": {"stop": ["x"]}})["sampling"] == {"stop": ["x"]}


def test_blocks_are_hashed_with_all_before_them():
    tokens = list(range(100))
    assert len(block_hashes(tokens)) == 3 and block_hashes(tokens)[:2] == block_hashes(tokens[:64])
    assert block_hashes([1, *tokens[1:]])[2] != block_hashes(tokens)[2] and block_hashes(tokens[:31]) == []


def test_the_router_finds_the_worker_that_has_the_beginning(tmp_path, monkeypatch):
    monkeypatch.setenv("DYN_FILE_KV", str(tmp_path))
    model = tenon.Model(DEMO, threads=1)
    prompt = model.tokenizer.encode("The fox and the sea. " * 40)
    expected = [piece.token for piece in tenon.Engine(model).stream(
        prompt, max_tokens=12, ignore_end=True, sampling={"temperature": 0})]

    async def main():
        runtimes = [DistributedRuntime(asyncio.get_running_loop(), "file", "tcp", event_plane="zmq")]
        worker = Worker(tenon.Engine(model), runtimes[0], "test.backend.generate")
        serving = asyncio.ensure_future(worker.serve("demo"))
        client = await worker.endpoint.client()
        await asyncio.wait_for(client.wait_for_instances(), 60)
        router = KvRouter(worker.endpoint, BLOCK_TOKENS, KvRouterConfig())
        answers = [answer async for answer in await router.generate(prompt, "demo", **EXACT)]
        assert [token for answer in answers for token in answer["token_ids"]] == expected
        assert answers[-1]["finish_reason"] == "length"
        for _ in range(200):  # events come by their own way
            found, _, overlap = await router.best_worker(prompt)
            if overlap:
                break
            await asyncio.sleep(0.1)
        assert found == worker.endpoint.connection_id() and overlap == len(prompt) // BLOCK_TOKENS
        assert (await router.best_worker(prompt[1:]))[2] == 0
        loads, = await router.get_potential_loads(prompt)
        assert loads["potential_prefill_tokens"] < BLOCK_TOKENS
        runtimes[0].shutdown()
        await asyncio.wait_for(asyncio.gather(serving, return_exceptions=True), 60)
    asyncio.run(main())

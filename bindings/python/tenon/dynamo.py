"""A worker for NVIDIA Dynamo: its router sends requests of tokens, and learns the cache's contents
and the load. Needs `pip install "tenon-llm[dynamo]"` (ai-dynamo-runtime).

    async def main():
        runtime = DistributedRuntime(asyncio.get_running_loop(), "file", "tcp", event_plane="zmq")
        await tenon.dynamo.Worker(tenon.Engine(tenon.Model(path)), runtime).serve("demo")

The frontend, its tokenizer and its router are Dynamo's. stop_conditions and sampling_options of its
requests set the sampling; the model's defaults apply to options that they lack."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Optional

try:
    from dynamo.llm import (KvEventPublisher, ModelInput, ModelRuntimeConfig, ModelType, WorkerMetricsPublisher,
                            WorkerType, register_model)
    from dynamo.runtime import DistributedRuntime
except ImportError as error:
    raise ImportError(f'tenon.dynamo needs NVIDIA Dynamo: pip install "tenon-llm[dynamo]" ({error})') from error

from ._engine import Engine, GenerateOptions
from ._kept import KeptBlocks

# Tokens per block in events: that of the KV cache on the CPU.
BLOCK_TOKENS = 32
# Dynamo's names of options, by ours.
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "seed": "seed",
             "frequency_penalty": "frequency_penalty", "presence_penalty": "presence_penalty",
             "repetition_penalty": "repeat_penalty"}
_FINISH = {"end": "eos", "max_tokens": "length", "stop": "stop", "banned": "stop"}


def block_hashes(tokens: Sequence[int]) -> "list[int]":
    """Hashes of whole blocks, each over all tokens up to its end: signed 64-bit numbers, as in
    events."""
    state, found = hashlib.blake2b(digest_size=8), []
    for end in range(BLOCK_TOKENS, len(tokens) + 1, BLOCK_TOKENS):
        state.update(b"".join(token.to_bytes(4, "little") for token in tokens[end - BLOCK_TOKENS:end]))
        found.append(int.from_bytes(state.digest(), "little", signed=True))
    return found


def options_of(request: Mapping[str, Any]) -> GenerateOptions:
    """Options of a Dynamo request (PreprocessedRequest)."""
    stops = request.get("stop_conditions") or {}
    given = request.get("sampling_options") or {}
    sampling = {ours: given[theirs] for theirs, ours in _SAMPLING.items() if given.get(theirs) is not None}
    for theirs, ours in (("stop", "stop"), ("min_tokens", "min_tokens")):
        if stops.get(theirs):
            sampling[ours] = stops[theirs]
    return {"max_tokens": stops.get("max_tokens") or 0, "ignore_end": bool(stops.get("ignore_eos")),
            "sampling": sampling}


class Worker:
    """Serves an engine as an endpoint of Dynamo."""

    def __init__(self, engine: Engine, runtime: DistributedRuntime, endpoint: str = "dynamo.backend.generate", *,
                 most_blocks: int = 65536) -> None:
        self.engine = engine
        self.endpoint = runtime.endpoint(endpoint)
        self._kept = KeptBlocks(most_blocks, tokens_of_block=BLOCK_TOKENS)
        self._most_blocks = most_blocks
        self._active_blocks = 0
        self._events: Optional[KvEventPublisher] = None
        self._metrics = WorkerMetricsPublisher()

    async def serve(self, name: str, assets: Optional[str] = None) -> None:
        """Registers the model under a name and answers requests until the runtime is shut down.
        assets: a folder with the tokenizer and configuration that Dynamo's frontend reads; None:
        requests hold tokens."""
        await self._metrics.create_endpoint(self.endpoint)
        self._events = KvEventPublisher(self.endpoint, kv_block_size=BLOCK_TOKENS)
        self._publish_load(0)
        try:
            await asyncio.gather(self.endpoint.serve_endpoint(self.generate), self._register(name, assets))
        finally:
            self._events.shutdown()

    async def _register(self, name: str, assets: Optional[str]) -> None:
        runtime = ModelRuntimeConfig()
        runtime.total_kv_blocks = self._most_blocks
        await register_model(
            ModelInput.Tokens, ModelType.Chat | ModelType.Completions, self.endpoint, assets or name, name,
            worker_type=WorkerType.Aggregated, kv_cache_block_size=BLOCK_TOKENS, runtime_config=runtime,
            skip_model_assets=assets is None)

    async def generate(self, request: Mapping[str, Any], context: Any) -> AsyncIterator["dict[str, Any]"]:
        """Streams tokens; the last one with its finish reason. Cancelled when the client stops or
        goes."""
        tokens = list(request["token_ids"])
        blocks = len(tokens) // BLOCK_TOKENS + 1
        self._publish_load(blocks)
        try:
            async with self.engine.stream(tokens, **options_of(request)) as generation:
                count = len(tokens)
                async for piece in generation:
                    if len(tokens) == count:
                        self._publish_stored(tokens)
                    if context.is_stopped():
                        yield {"token_ids": [], "finish_reason": "cancelled"}
                        return
                    answer: dict[str, Any] = {"token_ids": [] if piece.token is None else [piece.token]}
                    tokens += answer["token_ids"]
                    if piece.finish is not None:
                        answer["finish_reason"] = _FINISH[piece.finish]
                    yield answer
            self._publish_stored(tokens)
        finally:
            self._publish_load(-blocks)

    def _publish_load(self, more: int) -> None:
        self._active_blocks += more
        self._metrics.publish(0, self._active_blocks, max(len(self._kept), self._active_blocks))

    def _publish_stored(self, tokens: Sequence[int]) -> None:
        """Publishes the blocks that were computed, and those that were evicted."""
        assert self._events is not None
        hashes = block_hashes(tokens)
        known = next((number for number, one in enumerate(hashes) if one not in self._kept), len(hashes))
        if known < len(hashes):
            new = hashes[known:]
            self._events.publish_stored(
                list(tokens[known * BLOCK_TOKENS:len(hashes) * BLOCK_TOKENS]), [BLOCK_TOKENS] * len(new), new,
                parent_hash=hashes[known - 1] if known else None)
        removed = [*self._kept.add(hashes), *self._kept.follow(self.engine, BLOCK_TOKENS)]
        if removed:
            self._events.publish_removed(removed)

"""The deployment: replicas, one engine each, behind a router that knows what they cache."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from ray import serve
from ray.serve.config import RequestRouterConfig

from .._engine import Engine, Piece
from .._errors import StateError
from .._kept import KeptBlocks
from .._model import Model
from .._native import EngineStats
from .._server import Server
from ._prefix import BLOCK_CHARACTERS, beginnings
from ._requests import Generator, Prompt, check_options, texts_of

# Hashes in a report: 8 bytes each, once a second.
_REPORTED = 4096
_REPORT_SECONDS = 1.0
# For English; a block of text is forgotten per that many tokens that the cache evicted.
_CHARACTERS_OF_TOKEN = 4


class ModelReplica:
    """One engine of a model, with everything that other processes call."""

    def __init__(self, path: str, model: Mapping[str, Any], engine: Mapping[str, Any], served_name: str = "",
                 context: int = 0) -> None:
        self._engine = Engine(Model(path, **model), **engine)
        self._served = served_name or Path(path).stem, context
        self._lock = threading.Lock()
        self._server: Optional[Server] = None
        self._generator = Generator(self._engine)
        self._kept = KeptBlocks(_REPORTED, tokens_of_block=BLOCK_CHARACTERS // _CHARACTERS_OF_TOKEN)

    async def pieces(self, prompt: Prompt, options: Mapping[str, Any],
                     after: Sequence[int] = ()) -> AsyncIterator[Piece]:
        """Streams the answer. after: tokens that the caller already has of a replica that died;
        they are drawn again and not handed out. Raises StateError if this machine draws others."""
        check_options(options)
        text = [beginning.hash for beginning in beginnings(texts_of(prompt))]
        async with self._generator.generate(prompt, options) as generation:
            drawn = 0
            async for piece in generation:
                if drawn == 0:
                    self._kept.add(text)
                drawn += 1
                if drawn > len(after):
                    yield piece
                elif piece.token != after[drawn - 1]:
                    raise StateError("this machine computes other bits than the one that began the answer: open the "
                                     "model with isa='portable' where machines differ")

    async def http(self, prompt: Prompt, method: str, target: str, body: bytes
                   ) -> "AsyncIterator[Union[tuple[int, dict[str, str]], bytes]]":
        """Streams an answer of the HTTP server, which is in this process and needs no socket:
        status and headers, then the bytes of its body. prompt: the text that PrefixRouter compares,
        of the request's own body."""
        async with self._running_server().request(method, target, body) as answer:
            await answer
            self._kept.add([beginning.hash for beginning in beginnings(texts_of(prompt))])
            yield answer.status, dict(answer.headers)
            async for part in answer:
                yield part

    def _running_server(self) -> Server:
        with self._lock:
            if self._server is None:
                name, context = self._served
                server = Server(without_page=1)
                server.add(name, self._engine, context=context)
                server.start()
                self._server = server
            return self._server

    async def text(self, prompt: Prompt, options: Mapping[str, Any]) -> str:
        """The whole answer."""
        return "".join([piece async for piece in self.pieces(prompt, options)])

    def record_routing_stats(self) -> "dict[str, Any]":
        """Reports to PrefixRouter. Serve calls it once a second."""
        self._kept.follow(self._engine)
        stats = self._engine.stats()
        return {"requests": stats.waiting + stats.running, "beginnings": list(self._kept.blocks())}

    def stats(self) -> EngineStats:
        """The engine's counters."""
        return self._engine.stats()


def application(path: str, *, replicas: int = 1, model: Optional[Mapping[str, Any]] = None,
                engine: Optional[Mapping[str, Any]] = None, name: str = "tenon", cpus: float = 1,
                one_per_node: bool = True, requests: int = 256, request_characters: int = 4000,
                served_name: str = "", context: int = 0) -> serve.Application:
    """A Serve application for serve.run: `replicas` engines of the model at `path`, which every
    node has.

    model, engine: options of tenon.Model and tenon.Engine. cpus: Ray's count per replica; give it
    the model's `threads`. one_per_node: each node has one engine, which shares its memory and cores
    with none. requests: the most that a replica has at once, waiting ones included.
    request_characters: that of PrefixRouter.initialize_state. served_name, context: those of
    http_application."""
    deployment = serve.deployment(ModelReplica).options(
        name=name, num_replicas=replicas, max_ongoing_requests=requests,
        ray_actor_options={"num_cpus": cpus}, max_replicas_per_node=1 if one_per_node else None,
        request_router_config=RequestRouterConfig(
            request_router_class="tenon.ray.PrefixRouter",
            request_router_kwargs={"request_characters": request_characters},
            request_routing_stats_period_s=_REPORT_SECONDS))
    application: serve.Application = deployment.bind(path, dict(model or {}), dict(engine or {}), served_name, context)
    return application

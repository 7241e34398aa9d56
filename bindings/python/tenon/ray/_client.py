"""Streams from a deployment that continue when their replica dies."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

from ray import exceptions
from ray.serve.handle import DeploymentHandle, DeploymentResponseGenerator

from .._engine import Piece
from ._requests import Prompt, check_options

# A replica, or its node, is gone. Exceptions of the replica itself are RayTaskError, which is not
# included.
DEATHS = (exceptions.RayActorError, exceptions.NodeDiedError, exceptions.WorkerCrashedError,
          exceptions.ObjectLostError, exceptions.LocalRayletDiedError, exceptions.OutOfMemoryError)
# Deaths in a row without a piece after which a stream gives up: the request may be the cause.
_MOST_DEATHS = 5


class _Answer:
    """Pieces of an answer so far, and requests for the rest."""

    def __init__(self, prompt: Prompt, options: "dict[str, Any]") -> None:
        check_options(options)
        sampling = dict(options.get("sampling") or {})
        # Draws depend only on the seed and on positions in the text, so another replica draws the
        # same.
        sampling.setdefault("seed", random.getrandbits(31))
        self._prompt = prompt
        self._options = {**options, "sampling": sampling}
        self._tokens: list[int] = []
        self._deaths = 0
        self.is_over = False

    @contextlib.contextmanager
    def request(self, pieces: DeploymentHandle) -> "Iterator[DeploymentResponseGenerator[Piece]]":
        """Requests the missing pieces by ModelReplica.pieces. Cancelled at the end. A death in
        between is no error, unless there were too many."""
        response = pieces.remote(self._prompt, self._options, list(self._tokens))
        try:
            yield response
            self.is_over = True
        except DEATHS:
            self._deaths += 1
            if self._deaths >= _MOST_DEATHS:
                raise
        finally:
            response.cancel()

    def take(self, piece: Piece) -> Piece:
        """Notes a piece that is handed out."""
        self._deaths = 0
        if piece.token is not None:
            self._tokens.append(piece.token)
        self.is_over = piece.finish is not None
        return piece


class Client:
    """Sends requests to the result of serve.run(application(...)). Any thread.

    A stream whose replica dies continues on another one, or on the same when it is back: each piece
    comes once and none is missing. Options are those of Engine.stream, with {"json_schema": ...},
    {"regex": ...}, {"gbnf": ...} or {"choices": [...]} as grammar. A prompt is a text, tokens, or
    messages."""

    def __init__(self, handle: DeploymentHandle) -> None:
        self._pieces = handle.options(stream=True, method_name="pieces")

    def stream(self, prompt: Prompt, **options: Any) -> Iterator[Piece]:
        """Pieces of an answer. The rest is cancelled when the iterator is freed."""
        answer = _Answer(prompt, options)
        while not answer.is_over:
            with answer.request(self._pieces) as response:
                for piece in response:
                    yield answer.take(piece)

    async def astream(self, prompt: Prompt, **options: Any) -> AsyncIterator[Piece]:
        """As `stream`, for `async for`."""
        answer = _Answer(prompt, options)
        while not answer.is_over:
            with answer.request(self._pieces) as response:
                async for piece in response:
                    yield answer.take(piece)

    def text(self, prompt: Prompt, **options: Any) -> str:
        """The whole answer."""
        return "".join(self.stream(prompt, **options))

    async def atext(self, prompt: Prompt, **options: Any) -> str:
        """The whole answer."""
        return "".join([piece async for piece in self.astream(prompt, **options)])

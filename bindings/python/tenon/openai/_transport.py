"""The server in this process, and requests to it without a socket."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

from .._engine import Engine
from .._errors import CancelledError, DeadlineError, StateError
from .._model import Model
from .._native import ServerPart
from .._server import Answer, Headers, Server
from ._errors import APIConnectionError, APITimeoutError

# Threads of a server over engines of the program: one answers, one parses requests, and one per
# model.
_THREADS = 2
_CLOSED = "The request or its client was closed before the end of the answer."


class Part(NamedTuple):
    """The next part of an answer."""

    status: int
    is_last: bool
    headers: Headers
    data: bytes

    @property
    def request_id(self) -> Optional[str]:
        """The request's name in the server's log."""
        found: Optional[str] = self.headers.get("X-Request-Id")
        return found


@contextlib.contextmanager
def _errors_of_the_package() -> Iterator[None]:
    try:
        yield
    except DeadlineError as error:
        raise APITimeoutError("Request timed out.") from error
    except CancelledError as error:
        raise APIConnectionError(_CLOSED) from error


class InProcessCall:
    """A running request. One thread or task at a time; the last reference cancels it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def _part(self, part: ServerPart) -> Part:
        return Part(part.http_status, part.is_last != 0, self.answer._headers, part.bytes)

    def wait(self) -> Part:
        """The next part."""
        with _errors_of_the_package():
            return self._part(self.answer._next_part())

    async def await_part(self) -> Part:
        """As next_part, in an event loop."""
        with _errors_of_the_package():
            return self._part(await self.answer._await_part())

    def close(self) -> None:
        """Cancels the request unless it is complete. Any thread; other readers get
        APIConnectionError."""
        self.answer.close()

    def is_over(self) -> bool:
        """True if it was closed. Raises APIConnectionError if another thread or task closed it."""
        if self.answer._closer.is_another:
            raise APIConnectionError(_CLOSED)
        return self.answer._closer.is_known


class InProcessServer:
    """Models by name, and the server over them, whose threads start with the first request."""

    def __init__(self, models: Mapping[str, Union[Model, Engine]], context: int) -> None:
        self._server = Server()
        self._lock = threading.Lock()
        self._has_started = False
        self._num_engines = sum(isinstance(served, Engine) for served in models.values())
        for name, served in models.items():
            self._server.add(name, served, context=context)

    def request(self, method: str, target: str, body: bytes, timeout: Optional[float]) -> InProcessCall:
        """Begins a request."""
        try:
            with self._lock:
                if not self._has_started:
                    self._server.start(_THREADS + self._num_engines if self._num_engines else 0)
                    self._has_started = True
            return InProcessCall(self._server.request(method, target, body, timeout=timeout))
        except StateError as error:
            raise APIConnectionError(str(error)) from error

    @property
    def is_closed(self) -> bool:
        """True if it was closed."""
        return self._server.closed

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a client of tenon.openai cannot be pickled or copied: it is an object of this process")

    def cancel(self) -> None:
        """Ends its requests and the server."""
        self._server.close()

"""The server in this process, and requests to it without a socket."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from .. import _native
from .._closing import Closer
from .._engine import Engine
from .._errors import CancelledError, StateError, UnsupportedError
from .._library import library
from .._loops import LoopWaker, waker_of_running_loop
from .._model import Model
from ._errors import APIConnectionError, APITimeoutError

# How long Python waits before it looks for signals (Ctrl-C).
_SIGNAL_SECONDS = 1.0
# Threads of a server: one answers, one understands requests; each model has one more.
_THREADS = 2
_CLOSED = "The request or its client was closed before the end of the answer."


def server_library() -> str:
    """The libtenon-server beside the libtenon in use."""
    used = Path(library())
    name = used.name.replace("libtenon.", "libtenon-server.", 1)
    return str(used.with_name(name)) if used.parent != Path(".") else name


class Part(NamedTuple):
    """What has come of an answer since the last one."""

    status: int
    is_last: bool
    headers: str
    data: bytes

    @property
    def header_fields(self) -> dict[str, str]:
        """By their names."""
        return dict(line.split(": ", 1) for line in self.headers.splitlines())

    @property
    def request_id(self) -> Optional[str]:
        """By which the server's log names the request."""
        return self.header_fields.get("X-Request-Id")


class InProcessCall:
    """A request under way. One thread or task at a time; the last reference cancels it."""

    def __init__(self, native: _native.ServerCall, timeout: Optional[float]) -> None:
        self._native = native
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._waker: Optional[LoopWaker] = None
        self._key = 0
        self._closer = Closer()

    def _left(self) -> Optional[float]:
        """Seconds to the deadline; None: any."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            self.close()
            raise APITimeoutError("Request timed out.")
        return left

    def _take(self, seconds: float) -> Part:
        try:
            return Part(*self._native.wait(seconds))
        except CancelledError as error:
            raise APIConnectionError(_CLOSED) from error

    def wait(self) -> Part:
        """The next part."""
        while True:
            left = self._left()
            part = self._take(_SIGNAL_SECONDS if left is None else -min(left, _SIGNAL_SECONDS))
            if part.is_last or part.data:
                return part

    async def await_part(self) -> Part:
        """The same in an event loop."""
        try:
            while True:
                part = self._take(0)
                if part.is_last or part.data:
                    return part
                waker = waker_of_running_loop()
                if waker is not self._waker:
                    self._waker, self._key = waker, waker.new_key()
                    self._native.attach(waker.native, self._key)
                try:
                    await asyncio.wait_for(self._await_news(waker), self._left())
                except asyncio.TimeoutError:
                    self._left()
        except BaseException as error:
            self.close()
            if isinstance(error, StateError):  # it may follow from its having been closed elsewhere
                self.is_over()
            raise

    async def _await_news(self, waker: LoopWaker) -> None:
        if self._closer.is_known:  # since it was looked at: nothing would wake it
            raise APIConnectionError(_CLOSED)
        await waker.wait(self._key)

    def close(self) -> None:
        """Cancels it unless it is complete. Any thread; others that wait for it get APIConnectionError."""
        self._closer.note()
        self._native.close()
        if self._waker is not None:
            self._waker.wake(self._key)

    def is_over(self) -> bool:
        """Whether it was closed. Raises APIConnectionError where another thread or task did."""
        if self._closer.is_another:
            raise APIConnectionError(_CLOSED)
        return self._closer.is_known


class InProcessServer:
    """Models by their names, and the server over them, whose threads start with the first request."""

    def __init__(self, models: Mapping[str, Union[Model, Engine]], context: int) -> None:
        try:
            _native.open_server_library(server_library())
        except OSError as error:
            raise UnsupportedError(f"libtenon-server was not found: {error}") from error
        self._native = _native.Server()
        self._lock = threading.Lock()
        self._has_started = False
        self._engines = [served for served in models.values() if isinstance(served, Engine)]
        for name, served in models.items():
            model = served.model if isinstance(served, Engine) else served
            engine = served._handle if isinstance(served, Engine) else None
            self._native.add(name, model._handle, engine, context)

    def request(self, method: str, target: str, body: bytes, timeout: Optional[float]) -> InProcessCall:
        """Begins a request."""
        with self._lock:
            if not self._has_started:
                for engine in self._engines:
                    engine._run(self)
                self._native.start(0 if not self._engines else _THREADS + len(self._engines))
                self._has_started = True
        try:
            return InProcessCall(_native.ServerCall(self._native, method, target, body), timeout)
        except StateError as error:
            raise APIConnectionError(str(error)) from error

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a client of tenon.openai cannot be pickled or copied: it is an object of this process")

    def cancel(self) -> None:
        """Ends its requests and itself."""
        self._native.close()

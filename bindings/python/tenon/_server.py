"""The HTTP server in this process, and requests to it without a socket."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._closing import Closer
from ._engine import Engine
from ._errors import CancelledError, DeadlineError, Error, StateError
from ._library import server_library
from ._loops import LoopWaker, waker_of_running_loop
from ._model import Model, PathLike
from ._native import Handle, ServerPart
from ._objects import Object, check_names, options_handle
from ._options import ServerOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import EngineOptions, ModelOptions

# Seconds that Python waits for a part before it looks for signals (Ctrl-C), and for a close by
# another thread.
_SIGNAL_SECONDS = 0.1

Body = Union[bytes, bytearray, memoryview, str, Mapping[str, Any], Sequence[Any], None]


class Headers(dict[str, str]):
    """Headers by name, in any case."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__((name.lower(), value) for name, value in headers.items())

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the default."""
        return super().get(name.lower(), default)


def _bytes_of(body: Body) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    return json.dumps(body).encode()


class Answer:
    """A running request and its answer: iterate over its bytes with `for` or `async for`.

        answer = server.request("POST", "/v1/completions", {"prompt": "Once", "stream": True})
        for part in answer: ...

    In an event loop `await` it before you read status and headers. It is cancelled by `close`, the
    end of a `with` or `async with` block, the cancellation of the waiting task, or the last
    reference. One thread or task at a time. A close by another one, or the server's end, raises
    CancelledError."""

    __slots__ = ("_handle", "_deadline", "_waker", "_key", "_closer", "_pending", "_status", "_headers", "_is_last",
                 "__weakref__")

    def __init__(self, handle: Handle, timeout: Optional[float]) -> None:
        self._handle = handle
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._waker: Optional[LoopWaker] = None
        self._key = 0
        self._closer = Closer()
        self._pending = b""
        self._status = 0
        self._headers = Headers({})
        self._is_last = False

    @property
    def status(self) -> int:
        """HTTP status: 200, 400, ... Waits for it."""
        while not self._has_begun():
            self._pending += self._next_part().bytes
        return self._status

    @property
    def headers(self) -> Headers:
        """Content-Type, X-Request-Id, Tenon-Notes, Retry-After. Waits for them."""
        self.status  # noqa: B018
        return self._headers

    def read(self) -> bytes:
        """The rest of the body, joined."""
        return b"".join(self)

    def json(self) -> Any:
        """The body parsed as JSON."""
        return json.loads(self.read())

    async def aread(self) -> bytes:
        """The rest of the body, joined."""
        return b"".join([part async for part in self])

    async def ajson(self) -> Any:
        """The body parsed as JSON."""
        return json.loads(await self.aread())

    def __await__(self) -> Generator[Any, None, Answer]:
        """Waits for status and headers."""
        return self._begin().__await__()

    async def _begin(self) -> Answer:
        while not self._has_begun():
            self._pending += (await self._await_part()).bytes
        return self

    def _has_begun(self) -> bool:
        return self._status != 0 or self._is_over()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while not self._is_over():
            if self._pending:
                return self._taken()
            self._pending = self._next_part().bytes
        raise StopIteration

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._is_over():
            if self._pending:
                return self._taken()
            self._pending = (await self._await_part()).bytes
        raise StopAsyncIteration

    def _taken(self) -> bytes:
        taken, self._pending = self._pending, b""
        return taken

    def _is_over(self) -> bool:
        """True if nothing more comes. Raises CancelledError if another thread or task closed it."""
        is_whole = self._is_last and not self._pending
        if not is_whole and self._closer.is_another:
            raise CancelledError("the request was closed by another thread or task before the end of its answer")
        return is_whole or self._closer.is_known

    def _left(self) -> Optional[float]:
        """Seconds to the deadline; None: no deadline."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            self.close()
            raise DeadlineError("the time given to the request has passed")
        return left

    def _take(self, seconds: float) -> ServerPart:
        """The next part, after at most that many seconds."""
        try:
            part = _native.server_call_wait(self._handle, seconds)
        except StateError as error:
            if self._closer.is_known:
                raise CancelledError("the request was closed before the end of its answer") from error
            raise
        if part.http_status != 0 and self._status == 0:
            self._status = part.http_status
            lines = (line.split(": ", 1) for line in part.headers.splitlines())
            self._headers = Headers({"Content-Type": part.content_type, **{line[0]: line[-1] for line in lines}})
        if part.is_last:
            self._is_last = True
            self._handle.destroy()
        return part

    def _next_part(self) -> ServerPart:
        """The next bytes, or the end, for code that may wait."""
        while True:
            left = self._left()
            part = self._take(_SIGNAL_SECONDS if left is None else min(left, _SIGNAL_SECONDS))
            if part.is_last or part.bytes:
                return part

    async def _await_part(self) -> ServerPart:
        """As next_part, in an event loop."""
        try:
            while True:
                part = self._take(0)
                if part.is_last or part.bytes:
                    return part
                waker = waker_of_running_loop()
                if waker is not self._waker:
                    self._waker, self._key = waker, waker.new_key()
                    _native.request_attach(self._handle, waker.native, self._key)
                await self._await_news(waker)
        except BaseException as error:
            self.close()
            if isinstance(error, StateError):  # may follow from a close elsewhere
                self._is_over()
            raise

    async def _await_news(self, waker: LoopWaker) -> None:
        if self._closer.is_known:  # closed since the check: nothing would wake the waiter
            raise CancelledError("the request was closed before the end of its answer")
        left = self._left()
        if left is None:
            await waker.wait(self._key)
        else:
            await waker.wait_at_most(self._key, left)
            self._left()

    def close(self) -> None:
        """Cancels the request unless it is complete. Any thread; other readers get CancelledError.
        """
        self._closer.note()
        self._handle.destroy()
        if self._waker is not None and not self._is_last:
            self._waker.wake(self._key)

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> Answer:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tenon.Answer cannot be pickled or copied: it is an object of this process")


def _lines(options: Optional[Mapping[str, Any]]) -> Optional[str]:
    """Options in the form of tenon_server_model_file."""
    lines = []
    for key, value in (options or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            text = str(one).lower() if isinstance(one, bool) else str(one)
            if "\n" in text:
                raise ValueError(f"option {key}: a line break is in its value")
            lines.append(f"{key}={text}")
    return "\n".join(lines) or None


class Server(Object):
    """Serves models over HTTP (the interfaces of OpenAI and Anthropic), and to this process without
    a socket.

        server = tenon.Server()
        server.add("demo", model)
        port = server.listen("127.0.0.1", 8080)
        server.start()

    Options are those of tenon/server.h. log(level, line) gets lines of JSON, on any thread, up to
    log_level. Added models and engines live as long as the server needs them. Any thread."""

    __slots__ = ("_lock", "_has_started", "_has_stopped", "_is_closed")

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        check_names("tenon.Server", options, ServerOptions.__annotations__)
        server_library()
        given = {key: os.fspath(value) if isinstance(value, os.PathLike) else value
                 for key, value in options.items()}
        self._lock = threading.Lock()  # around calls that must not run concurrently
        self._has_started = self._has_stopped = self._is_closed = False
        self._handle = _native.server_create(given)

    def _alone(self) -> threading.Lock:
        """Lock of calls that must not run concurrently. Raises StateError in a log function, for
        which the lock's holder may be waiting."""
        if _native.is_in_log_function():
            raise StateError("a log function must not call the server that it is of")
        return self._lock

    def add(self, name: str, served: Union[Model, Engine], *, context: int = 0,
            **engine_options: Unpack[EngineOptions]) -> None:
        """Serves a model under a name, in an engine of the server's own with these options, or in
        your engine. The server starts that engine's thread and keeps it, even if you close the
        engine. context: most tokens of a request's prompt and answer; 0: a session's default."""
        if isinstance(served, Engine):
            if engine_options:
                raise TypeError("the engine has its options already")
            with self._alone():
                _native.server_add_engine(self._handle, name, served.model._handle, served._handle, context)
                self._handle.keep(served)
                self._handle.keep(served._thread())  # the engine's thread computes after a close, too
        elif isinstance(served, Model):
            options = options_handle(engine_options)
            with self._alone():
                _native.server_add_model(self._handle, name, served._handle, options, context)
                self._handle.keep(served._kept)  # bytes that the model reads
        else:
            raise TypeError(f"a tenon.Model or tenon.Engine is needed, not {type(served).__name__}; "
                            "add_file takes a path")

    def add_file(self, name: str, path: PathLike, *, model: Optional[ModelOptions] = None,
                 engine: Optional[EngineOptions] = None, context: int = 0, cache_bytes: int = 0) -> None:
        """Serves a model file that is loaded when a request asks for it, and unloaded if
        memory_bytes are used up. model, engine: their options."""
        fields = {"path": os.fsencode(path), "model_options": _lines(model), "engine_options": _lines(engine),
                  "context": context, "cache_bytes": cache_bytes}
        with self._alone():
            _native.server_add_file(self._handle, name, fields)

    def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Accepts connections at an address once started; port 0: any free one. Returns the port.
        """
        with self._alone():
            return _native.server_listen_tcp(self._handle, host, port)

    def listen_unix(self, path: PathLike) -> None:
        """Accepts connections at a Unix socket, whose file is removed at the end."""
        with self._alone():
            _native.server_listen_unix(self._handle, os.fsencode(path))

    def start(self, threads: int = 0) -> None:
        """Starts answering, on threads of its own; 0: as many as are useful."""
        with self._alone():
            if self._has_stopped or self._has_started:
                raise StateError("the server was stopped" if self._has_stopped else "the server runs already")
            _native.server_start(self._handle, threads)
            self._has_started = True

    def stop(self, seconds: float = 0) -> None:
        """Takes no more requests, gives running ones that many seconds, and cancels the others. The
        server cannot start again."""
        with self._alone():
            self._has_stopped = True
        _native.server_stop(self._handle, seconds)

    def request(self, method: str, target: str, body: Body = None, *, api_key: Optional[str] = None,
                timeout: Optional[float] = None) -> Answer:
        """Sends a request like a client, without a socket; the server must run. Errors of the
        request are in the answer. body: bytes, a text, or values for JSON. timeout: seconds to the
        end of the answer, then DeadlineError."""
        if self._is_closed or not self._has_started:
            raise StateError("the server has been closed" if self._is_closed else
                             "the server does not run: start() it first")
        fields = {"method": method, "target": target, "body": _bytes_of(body), "api_key": api_key}
        return Answer(_native.server_submit(self._handle, fields), timeout)

    def close(self) -> None:
        """Cancels running requests, also for a stop() that waits in another thread, and frees the
        server when the last answer is gone. Any thread."""
        handle: Optional[Handle] = getattr(self, "_handle", None)
        if handle is None or not handle.is_live:
            return
        with self._alone():
            self._has_stopped = self._is_closed = True
        with contextlib.suppress(Error):  # in a forked child, or closed by another thread
            _native.server_stop(handle, 0)
        handle.destroy()

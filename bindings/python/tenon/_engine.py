"""Engines, which serve many sessions, and generations, which `for` and `async for` iterate over."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

from . import _native, constants
from ._closing import Closer
from ._errors import CancelledError, Error, StateError
from ._loops import LoopWaker, waker_of_running_loop
from ._native import EngineStats, Handle, RequestStats
from ._objects import Object, check_type, options_handle
from ._options import SamplerOptions
from ._sampler import Grammar, Sampler

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model
    from ._options import EngineOptions, SessionOptions
    from ._session import Session

# Why a piece is the last, by TENON_FINISH_*.
_FINISH = {constants.FINISH_NONE: None, constants.FINISH_END: "end",
           constants.FINISH_MAX_TOKENS: "max_tokens", constants.FINISH_STOP: "stop",
           constants.FINISH_BANNED: "banned"}
# Seconds that Python waits for a piece before it looks for signals (Ctrl-C). Short waits cut steps.
_SIGNAL_SECONDS = 1.0


class Driven(Protocol):
    """A waiter for the engine's thread."""

    def cancel(self) -> None:
        """Called when the engine will not compute any more."""


class GenerateOptions(SamplerOptions, total=False):
    """Options of a generation besides its text, those of its sampler included, as `temperature=0`.
    """

    max_tokens: int
    """Most tokens; 0: as many as the context holds."""
    sampler: Optional[Sampler]
    """Replaces the sampler options."""
    sampling: dict[str, Any]
    """Sampler options as a dict: {"temperature": 0}."""
    grammar: Optional[Grammar]
    """Allows only texts of this grammar."""
    add_special: Optional[bool]
    """Begin token before the text; None: if the session is empty."""
    parse_special: bool
    """Find control tokens in the text: not for user input."""
    ignore_end: bool
    """An end token does not end generation."""
    logprobs: Optional[int]
    """Adds a logprob to pieces, and those of that many likeliest tokens."""
    timeout: float
    """Seconds to the end, then DeadlineError; 0: none."""
    priority: Optional[int]
    """Higher runs first; None: the session's."""
    client: Optional[str]
    """Key of a fair share; None: the session's."""
    weight: float
    """Weight of the client's share; 0: the session's."""


class Piece(str):
    """A token's text: whole characters, empty while one is incomplete. The last one has `finish`.
    """

    __slots__ = ("token", "finish", "logprob", "top")
    token: Optional[int]
    finish: Optional[str]
    logprob: Optional[float]
    top: list[tuple[int, float]]


def piece_of(raw: _native.Piece) -> Piece:
    """A piece for Python."""
    piece = Piece(raw.text)
    piece.token = None if raw.token == constants.NO_TOKEN else raw.token
    piece.finish = _FINISH[raw.finish]
    piece.logprob = None
    piece.top = []
    return piece


class Generation:
    """A running continuation: iterate over its pieces with `for` or `async for`.

    It is queued when it is made. It is cancelled by `close`, the end of a `with` or `async with`
    block, the cancellation of the iterating task, or the last reference. The session can then
    continue from where it was.

    A loop ends without an error only after the last piece, or if its own thread (task) closed the
    generation. If another thread or task closed it earlier, the loop raises CancelledError."""

    __slots__ = ("_handle", "_session", "_engine", "_waker", "_key", "_num_top", "_has_ended", "_closer",
                 "_owns", "_seed", "__weakref__")

    def __init__(self, session: Session, engine: Engine, handle: Handle, num_top: Optional[int],
                 owns_session: bool) -> None:
        self._handle = handle
        self._session = session
        self._engine = engine
        self._waker: Optional[LoopWaker] = None
        self._key = 0
        self._num_top = num_top
        self._has_ended = False
        self._closer = Closer()
        self._owns = owns_session
        self._seed = _native.request_seed(handle)

    @property
    def session(self) -> Session:
        """The session whose text it continues."""
        return self._session

    @property
    def seed(self) -> int:
        """Seed of the answer; as the option `seed` it gives the same answer again."""
        return self._seed

    def cancel(self) -> None:
        """Ends the generation with CancelledError for its readers. Any thread."""
        if self._handle.is_live:
            _native.request_cancel(self._handle)

    def close(self) -> None:
        """Cancels the generation and releases the session. Any thread; other readers get
        CancelledError."""
        self._closer.note()
        if self._handle.is_live:
            with contextlib.suppress(Error):  # in a forked child
                _native.request_cancel(self._handle)
        self._handle.destroy()
        if self._waker is not None and not self._has_ended:
            self._waker.wake(self._key)
        if self._owns:
            self._session.close()

    def _is_over(self) -> bool:
        """True if nothing more comes. Raises CancelledError if another thread or task closed it."""
        if not self._has_ended and self._closer.is_another:
            raise CancelledError("the generation was closed by another thread or task before its end")
        return self._has_ended or self._closer.is_known

    def _close_after(self, error: BaseException) -> None:
        """Closes the generation. Raises CancelledError instead of the error that a close elsewhere
        caused."""
        self.close()
        if isinstance(error, StateError):
            self._is_over()

    @property
    def stats(self) -> RequestStats:
        """How much of the prompt was reused."""
        return _native.request_get_stats(self._handle)

    def text(self) -> str:
        """The rest of the text, joined."""
        return "".join(self)

    def _taken(self, raw: _native.Piece) -> Piece:
        piece = piece_of(raw)
        if self._num_top is not None and piece.token is not None:
            piece.logprob, tokens, values = _native.request_logprobs(self._handle, self._num_top)
            piece.top = list(zip(tokens, values))
        if piece.finish is not None:
            self._has_ended = True
            self.close()
        return piece

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        if self._is_over():
            raise StopIteration
        try:
            return self._taken(_native.request_next(self._handle, _SIGNAL_SECONDS))
        except BaseException as error:
            self._close_after(error)
            raise

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self

    async def __anext__(self) -> Piece:
        if self._is_over():
            raise StopAsyncIteration
        try:
            while True:
                raw = _native.request_wait(self._handle, 0)
                if raw.token != constants.NO_TOKEN or raw.finish != constants.FINISH_NONE:
                    return self._taken(raw)
                await self._wait()
        except BaseException as error:
            self._close_after(error)
            raise

    async def _wait(self) -> None:
        waker = waker_of_running_loop()
        if waker is not self._waker:
            self._waker, self._key = waker, waker.new_key()
            _native.request_attach(self._handle, waker.native, self._key)
            self._engine._run(self)
        await waker.wait(self._key)

    async def atext(self) -> str:
        """The rest of the text, joined."""
        return "".join([piece async for piece in self])

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> Generation:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tenon.Generation cannot be pickled or copied: "
                        "it is an object of this process")


class Engine(Object):
    """Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any thread.

        async for piece in tenon.Engine(model).stream("Once upon a time", max_tokens=12): ...

    The engine computes in calls that wait. The first `async for` starts a thread for it, one for
    all requests."""

    __slots__ = ("_model", "_lock", "_runner", "_driven")

    def __init__(self, model: Model, **options: Unpack[EngineOptions]) -> None:
        from ._model import Model
        check_type(model, Model)
        self._model = model._view()
        self._lock = threading.Lock()
        self._runner: Optional[_native.Runner] = None
        # Waiters for the thread.
        self._driven: "weakref.WeakSet[Driven]" = weakref.WeakSet()
        self._handle = _native.engine_create(model._handle, options_handle(options))

    @property
    def model(self) -> Model:
        """The model that the engine serves."""
        return self._model

    def open_session(self, **options: Unpack[SessionOptions]) -> Session:
        """A new session in this engine, with an empty text."""
        from ._session import Session
        return Session(self._model, engine=self, **options)

    def stream(self, prompt: Union[str, Sequence[int]], **options: Unpack[GenerateOptions]) -> Generation:
        """Continues a text in a session of its own: for `for` and `async for` alike."""
        session = self.open_session()
        try:
            return session._generate(prompt, options, owns_session=True)
        except BaseException:
            session.close()
            raise

    @property
    def stats(self) -> EngineStats:
        """Counters and current values."""
        return _native.engine_get_stats(self._handle)

    def stats_text(self) -> str:
        """The statistics as Prometheus text."""
        return _native.engine_stats_text(self._handle)

    def step(self) -> bool:
        """Computes one step if work is waiting; returns True if it did."""
        return _native.engine_step(self._handle) != 0

    def _run(self, waiting: Driven) -> None:
        """Starts the engine's thread for a waiter."""
        with self._lock:
            self._driven.add(waiting)
            self._started()

    def _thread(self) -> _native.Runner:
        """The engine's thread, alive until the last reference: for a server."""
        with self._lock:
            return self._started()

    def _started(self) -> _native.Runner:
        if not self._handle.is_live:
            raise StateError("the engine has been closed: only `for` can still iterate")
        if self._runner is None:
            self._runner = _native.Runner(self._handle)
        return self._runner

    def close(self) -> None:
        """Ends event-loop waiters with CancelledError, and the thread, unless a server still needs
        it. Sessions can still be used, but not with `async for`."""
        with self._lock:
            for waiting in list(self._driven):
                waiting.cancel()
            self._runner = None  # the last reference ends the thread
            super().close()


# A process ends without waiting for running work.
atexit.register(_native.end_process)


async def gather_texts(generations: Sequence[Generation]) -> list[str]:
    """Texts of several generations, computed in one batch."""
    return list(await asyncio.gather(*(generation.atext() for generation in generations)))

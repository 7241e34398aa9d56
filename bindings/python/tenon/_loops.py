"""Wakes asyncio for requests: one waker per event loop, for any number of requests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import weakref
from collections.abc import Callable
from typing import Any, Optional, TypeVar

from . import _native

T = TypeVar("T")


class LoopWaker:
    """Futures by the key of the request they wait for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.native = _native.Waker()
        self._loop = weakref.ref(loop)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._keys = itertools.count(1)
        loop.add_reader(self.native.fileno(), self._wake)

    def new_key(self) -> int:
        """A key for another request."""
        return next(self._keys)

    def _wake(self) -> None:
        for key in self.native.take():
            self._end_wait(key)

    def _end_wait(self, key: int) -> None:
        future = self._waiting.get(key)
        if future is not None and not future.done():
            future.set_result(None)

    def wake(self, key: int) -> None:
        """Ends the wait for a closed request, of which nothing else tells. Any thread."""
        loop = self._loop()
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # closed meanwhile
                loop.call_soon_threadsafe(self._end_wait, key)

    async def wait_at_most(self, key: int, seconds: float) -> None:
        """As `wait`, for at most that many seconds."""
        with contextlib.suppress(asyncio.TimeoutError):
            await self._wait(key, seconds)

    async def wait(self, key: int) -> None:
        """Waits until the request may have a piece. Look first for pieces that came before."""
        await self._wait(key, None)

    async def _wait(self, key: int, seconds: Optional[float]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Register before anything else runs in the loop: wait_for may wrap a non-future in a task
        # that starts later.
        self._waiting[key] = future
        try:
            await (future if seconds is None else asyncio.wait_for(future, seconds))
        finally:
            del self._waiting[key]


_wakers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWaker]" = weakref.WeakKeyDictionary()


def waker_of_running_loop() -> LoopWaker:
    """The waker of the running loop."""
    loop = asyncio.get_running_loop()
    waker = _wakers.get(loop)
    if waker is None:
        waker = _wakers[loop] = LoopWaker(loop)
    return waker


async def in_thread(call: Callable[[], T], cancel: Callable[[], Any]) -> T:
    """Runs a blocking call on another thread, so that the loop continues. Cancelling the task
    cancels the call and waits for its end."""
    future = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancel()
        with contextlib.suppress(Exception):
            await future
        raise

"""Remembers which code closed an iterator: a loop ended by other code is not at its end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from typing import Any, Optional

# A thread and a task of its event loop. Weak references: thread numbers are reused, references are
# not.
_Caller = tuple["weakref.ref[threading.Thread]", Optional["weakref.ref[asyncio.Task[Any]]"]]


def _this_caller() -> _Caller:
    task: Optional[asyncio.Task[Any]] = None
    with contextlib.suppress(RuntimeError):  # no running loop
        task = asyncio.current_task()
    return weakref.ref(threading.current_thread()), None if task is None else weakref.ref(task)


class Closer:
    """The thread and task that closed first. Any thread."""

    __slots__ = ("_caller",)

    def __init__(self) -> None:
        self._caller: Optional[_Caller] = None

    def note(self) -> None:
        """Notes the caller as the closer."""
        if self._caller is None:
            self._caller = _this_caller()

    @property
    def is_known(self) -> bool:
        """True if it was closed."""
        return self._caller is not None

    @property
    def is_another(self) -> bool:
        """True if another thread or task than the caller's closed it."""
        return self._caller is not None and self._caller != _this_caller()

"""Streamed answers: from the bytes of server-sent events to records, for `for` and `async for`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Optional

from ._errors import APIError
from ._records import record_of
from ._transport import InProcessCall


class EventReader:
    """Cuts bytes into events (HTML standard, 9.2), and parses these into records."""

    def __init__(self) -> None:
        self._rest = b""

    def records(self, data: bytes) -> list[Any]:
        """Records that are complete now. Raises APIError for an error."""
        *events, self._rest = (self._rest + data).split(b"\n\n")
        found = []
        for event in events:
            text = b"".join(line[5:].lstrip() for line in event.split(b"\n") if line.startswith(b"data:"))
            if not text or text == b"[DONE]":
                continue
            value = json.loads(text)
            if isinstance(value.get("error"), dict) and value.get("object") != "response":
                raise APIError(str(value["error"].get("message")), value["error"])
            found.append(record_of(value))
        return found


class Stream(Iterator[Any]):
    """The events of an answer. `close`, the end of a `with` block and the last reference cancel it.
    Raises APIConnectionError if another thread or task closed it before its last event."""

    def __init__(self, call: InProcessCall, first: bytes, is_last: bool) -> None:
        self._call = call
        self._reader = EventReader()
        self._ready = self._reader.records(first)
        self._is_last = is_last

    def __next__(self) -> Any:
        while (self._ready or not self._is_last) and not self._call.is_over():
            if self._ready:
                return self._ready.pop(0)
            part = self._call.wait()
            self._is_last = part.is_last
            self._ready = self._reader.records(part.data)
        raise StopIteration

    def close(self) -> None:
        """Cancels the rest."""
        self._call.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class AsyncStream(AsyncIterator[Any]):
    """Stream for `async for`."""

    def __init__(self, call: InProcessCall, first: bytes, is_last: bool) -> None:
        self._call = call
        self._reader = EventReader()
        self._ready = self._reader.records(first)
        self._is_last = is_last

    async def __anext__(self) -> Any:
        while (self._ready or not self._is_last) and not self._call.is_over():
            if self._ready:
                return self._ready.pop(0)
            part = await self._call.await_part()
            self._is_last = part.is_last
            self._ready = self._reader.records(part.data)
        raise StopAsyncIteration

    async def close(self) -> None:
        """Cancels the rest."""
        self._call.close()

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

"""Answers of with_streaming_response, read in pieces in a block; and whole answers as records."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Optional

from ._errors import status_error
from ._raw import RawResponse
from ._records import record_of
from ._streams import AsyncStream, Stream
from ._transport import InProcessCall, Part

Finish = Callable[[Any], Any]


def whole(part: Part, data: bytes, finish: Optional[Finish], raw: bool) -> Any:
    """The record of a whole answer; raw: the RawResponse that makes it. Raises APIStatusError for
    an error."""
    if part.status >= 400:
        raise status_error(json.loads(data) if data else {}, RawResponse(part.status, part.headers, data))

    def parse() -> Any:
        made = record_of(json.loads(data) if data else {}, part.request_id)
        return made if finish is None else finish(made)
    return RawResponse(part.status, part.headers, data, parse) if raw else parse()


class _Lines:
    """Cuts bytes into lines of text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def add(self, data: bytes, is_last: bool = False) -> list[str]:
        """Lines that are complete now."""
        *lines, self._rest = (self._rest + self._decoder.decode(data, is_last)).split("\n")
        return [*lines, self._rest] if is_last and self._rest else lines


class _Streamed:
    def __init__(self, call: InProcessCall, first: Part, streams: bool, finish: Optional[Finish]) -> None:
        self.status_code = first.status
        self.headers = first.headers
        self.request_id = first.request_id
        self._call = call
        self._first = first
        self._streams = streams
        self._finish = finish
        self._data: Optional[bytes] = None

    def _pieces(self, data: bytes, size: Optional[int]) -> Iterator[bytes]:
        step = size or max(len(data), 1)
        return (data[i:i + step] for i in range(0, len(data), step))


class StreamedResponse(_Streamed):
    """An answer that is read once: by iter_lines(), iter_text(), iter_bytes(), read() or parse().
    """

    def iter_bytes(self, chunk_size: Optional[int] = None) -> Iterator[bytes]:
        """The body in pieces."""
        part = self._first
        while True:
            yield from self._pieces(part.data, chunk_size)
            if part.is_last:
                return
            part = self._call.wait()

    def iter_text(self, chunk_size: Optional[int] = None) -> Iterator[str]:
        """The body as text, in pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for data in self.iter_bytes(chunk_size):
            yield decoder.decode(data)

    def iter_lines(self) -> Iterator[str]:
        """The body as text, line by line."""
        lines = _Lines()
        for data in self.iter_bytes():
            yield from lines.add(data)
        yield from lines.add(b"", True)

    def read(self) -> bytes:
        """The whole body."""
        if self._data is None:
            self._data = b"".join(self.iter_bytes())
        return self._data

    def text(self) -> str:
        """The whole body as text."""
        return self.read().decode()

    def json(self) -> Any:
        """The whole body parsed as JSON."""
        return json.loads(self.read())

    def parse(self) -> Any:
        """The result that the call itself would have returned."""
        if self._streams:
            return Stream(self._call, self._first.data, self._first.is_last)
        return whole(self._first, self.read(), self._finish, False)

    def close(self) -> None:
        """Cancels the rest."""
        self._call.close()


class StreamedResponseManager:
    """The block of a StreamedResponse."""

    def __init__(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> None:
        self._begin = begin
        self._how = streams, finish
        self._call: Optional[InProcessCall] = None

    def __enter__(self) -> StreamedResponse:
        call = self._call = self._begin()
        answer = StreamedResponse(call, call.wait(), *self._how)
        if answer.status_code >= 400:
            whole(answer._first, answer.read(), None, False)
        return answer

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._call is not None:
            self._call.close()


class AsyncStreamedResponse(_Streamed):
    """StreamedResponse in an event loop."""

    async def iter_bytes(self, chunk_size: Optional[int] = None) -> AsyncIterator[bytes]:
        """The body in pieces."""
        part = self._first
        while True:
            for piece in self._pieces(part.data, chunk_size):
                yield piece
            if part.is_last:
                return
            part = await self._call.await_part()

    async def iter_text(self, chunk_size: Optional[int] = None) -> AsyncIterator[str]:
        """The body as text, in pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for data in self.iter_bytes(chunk_size):
            yield decoder.decode(data)

    async def iter_lines(self) -> AsyncIterator[str]:
        """The body as text, line by line."""
        lines = _Lines()
        async for data in self.iter_bytes():
            for line in lines.add(data):
                yield line
        for line in lines.add(b"", True):
            yield line

    async def read(self) -> bytes:
        """The whole body."""
        if self._data is None:
            self._data = b"".join([data async for data in self.iter_bytes()])
        return self._data

    async def text(self) -> str:
        """The whole body as text."""
        return (await self.read()).decode()

    async def json(self) -> Any:
        """The whole body parsed as JSON."""
        return json.loads(await self.read())

    async def parse(self) -> Any:
        """The result that the call itself would have returned."""
        if self._streams:
            return AsyncStream(self._call, self._first.data, self._first.is_last)
        return whole(self._first, await self.read(), self._finish, False)

    async def close(self) -> None:
        """Cancels the rest."""
        self._call.close()


class AsyncStreamedResponseManager:
    """The block of an AsyncStreamedResponse."""

    def __init__(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> None:
        self._begin = begin
        self._how = streams, finish
        self._call: Optional[InProcessCall] = None

    async def __aenter__(self) -> AsyncStreamedResponse:
        call = self._call = self._begin()
        answer = AsyncStreamedResponse(call, await call.await_part(), *self._how)
        if answer.status_code >= 400:
            whole(answer._first, await answer.read(), None, False)
        return answer

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if self._call is not None:
            self._call.close()

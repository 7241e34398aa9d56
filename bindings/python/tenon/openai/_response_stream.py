"""responses.parse() and responses.stream(): answers with objects of a class, and events that have
the text so far."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Optional

from ._records import Record
from ._streams import AsyncStream, Stream
from ._values import is_class, parsed_content, schema_format


def response_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a request: text_format, a class of pydantic, becomes text.format."""
    sent = {key: value for key, value in fields.items() if key != "text_format"}
    if is_class(fields.get("text_format")):
        schema = schema_format(fields["text_format"])["json_schema"]
        sent["text"] = {**(fields.get("text") or {}), "format": {"type": "json_schema", **schema}}
    return sent


class ResponseParser:
    """A request's rules for parsing its answer."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._format = fields.get("text_format")
        self._strict_tools = frozenset(tool["name"] for tool in fields.get("tools") or []
                                       if tool.get("type") == "function" and tool.get("strict"))

    def text(self, content: str) -> Any:
        """A whole text as an object; None if none was wanted."""
        return parsed_content(self._format, content)

    def response(self, response: Any) -> Any:
        """Adds `parsed` to the texts, and `parsed_arguments` to the calls, of a whole answer."""
        for item in response.output:
            if item.type == "message":
                for part in item.content:
                    if part.type == "output_text":
                        part._fields["parsed"] = self.text(part.text)
            elif item.type == "function_call":
                item._fields["parsed_arguments"] = \
                    json.loads(item.arguments) if item.name in self._strict_tools else None
        return response


class ResponseAssembler:
    """The answer so far, and each event of the server in the package's form."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._parser = ResponseParser(fields)
        # Texts by item and part, arguments by item.
        self._texts: dict[tuple[int, int], str] = {}
        self._arguments: dict[int, str] = {}
        self.response: Any = None

    def event(self, event: Any) -> Any:
        """Adds an event."""
        kind = event.type
        if kind == "response.output_text.delta":
            place = (event.output_index, event.content_index)
            self._texts[place] = self._texts.get(place, "") + event.delta
            return Record({**event._fields, "snapshot": self._texts[place]})
        if kind == "response.output_text.done":
            return Record({**event._fields, "parsed": self._parser.text(event.text)})
        if kind == "response.function_call_arguments.delta":
            self._arguments[event.output_index] = self._arguments.get(event.output_index, "") + event.delta
            return Record({**event._fields, "snapshot": self._arguments[event.output_index]})
        if kind == "response.completed":
            self.response = self._parser.response(event.response)
        return event

    def whole(self) -> Any:
        """The answer. Raises RuntimeError if it did not end, as the package does."""
        if self.response is None:
            raise RuntimeError("Didn't receive a `response.completed` event.")
        return self.response


class ResponseStream(Iterator[Any]):
    """Events of an answer. Those of texts and arguments have the `snapshot` so far, the last one
    the object."""

    def __init__(self, stream: Stream, assembler: ResponseAssembler) -> None:
        self._stream = stream
        self._assembler = assembler

    def __next__(self) -> Any:
        return self._assembler.event(next(self._stream))

    def until_done(self) -> ResponseStream:
        """Reads the rest."""
        for _ in self:
            pass
        return self

    def get_final_response(self) -> Any:
        """Reads the rest and returns the whole answer. Raises RuntimeError if max_output_tokens cut
        it."""
        self.until_done()
        return self._assembler.whole()

    def close(self) -> None:
        """Cancels the rest."""
        self._stream.close()


class AsyncResponseStream(AsyncIterator[Any]):
    """ResponseStream for `async for`."""

    def __init__(self, stream: AsyncStream, assembler: ResponseAssembler) -> None:
        self._stream = stream
        self._assembler = assembler

    async def __anext__(self) -> Any:
        return self._assembler.event(await self._stream.__anext__())

    async def until_done(self) -> AsyncResponseStream:
        """Reads the rest."""
        async for _ in self:
            pass
        return self

    async def get_final_response(self) -> Any:
        """Reads the rest and returns the whole answer. Raises RuntimeError if max_output_tokens cut
        it."""
        await self.until_done()
        return self._assembler.whole()

    async def close(self) -> None:
        """Cancels the rest."""
        await self._stream.close()


class ResponseStreamManager:
    """Result of responses.stream(): the request begins and ends with the `with` (`async with`)
    block."""

    def __init__(self, begin: Callable[[], Any], fields: Mapping[str, Any]) -> None:
        self._begin = begin
        self._fields = fields
        self._stream: Any = None

    def __enter__(self) -> ResponseStream:
        self._stream = self._begin()
        return ResponseStream(self._stream, ResponseAssembler(self._fields))

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._stream.close()

    async def __aenter__(self) -> AsyncResponseStream:
        self._stream = await self._begin()
        return AsyncResponseStream(self._stream, ResponseAssembler(self._fields))

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self._stream.close()

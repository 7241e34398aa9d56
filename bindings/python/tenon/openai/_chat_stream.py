"""chat.completions.stream(): an answer's chunks as events, and assembled to a whole answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Optional

from ._errors import LengthFinishReasonError
from ._partial_json import partial_json
from ._records import Record
from ._streams import AsyncStream, Stream
from ._values import is_class, parsed_content


def _merge(fields: dict[str, Any], delta: Record) -> None:
    """Appends texts and merges objects, lists of them by their `index`; otherwise keeps the first
    value."""
    for key, value in delta._fields.items():
        known = fields.get(key)
        if key == "tool_calls" and value:
            calls = fields[key] = known or []
            for call in value:
                if call.index >= len(calls):
                    calls.append(Record({}))
                _merge(calls[call.index]._fields, call)
        elif isinstance(value, Record):
            if known is None:
                known = fields[key] = Record({})
            _merge(known._fields, value)
        elif isinstance(known, str) and isinstance(value, str) and key != "type":
            fields[key] = known + value
        elif known is None:
            fields[key] = value


class _Choice:
    """A choice so far, and which of its parts were reported as complete."""

    def __init__(self, index: int, strict_tools: frozenset[str], response_format: Any) -> None:
        self.record = Record({"index": index, "finish_reason": None, "logprobs": None,
                              "message": Record({"content": None, "parsed": None, "tool_calls": None})})
        self._strict_tools = strict_tools
        self._format = response_format
        self._call: Optional[int] = None
        self._told: set[object] = set()

    def events(self, choice: Any) -> Iterator[Record]:
        """Adds a chunk's part of the choice."""
        record, message, delta = self.record, self.record.message, choice.delta
        _merge(message._fields, delta)
        if choice.logprobs is not None:
            if record.logprobs is None:
                record._fields["logprobs"] = Record({"content": [], "refusal": None})
            record.logprobs.content.extend(choice.logprobs.content or [])
        if choice.finish_reason:
            record._fields["finish_reason"] = choice.finish_reason
        if is_class(self._format) and message.content:
            message._fields["parsed"] = partial_json(message.content)
        if delta.content is not None:
            yield Record({"type": "content.delta", "delta": delta.content, "snapshot": message.content,
                          "parsed": message.parsed})
        for call in delta.tool_calls or []:
            function = message.tool_calls[call.index].function
            if function.name in self._strict_tools and function.arguments:
                function._fields["parsed_arguments"] = partial_json(function.arguments)
            yield Record({"type": "tool_calls.function.arguments.delta", "name": function.name,
                          "index": call.index, "arguments": function.arguments,
                          "parsed_arguments": function.parsed_arguments,
                          "arguments_delta": call.function.arguments or ""})
        if choice.logprobs is not None and choice.logprobs.content:
            yield Record({"type": "logprobs.content.delta", "content": choice.logprobs.content,
                          "snapshot": record.logprobs.content})
        if choice.finish_reason:
            yield from self._content_done()
            yield from self._call_done()
        for call in delta.tool_calls or []:
            if call.index != self._call:
                yield from self._content_done()
                yield from self._call_done()
            self._call = call.index

    def _content_done(self) -> Iterator[Record]:
        message, logprobs = self.record.message, self.record.logprobs
        if message.content and "content" not in self._told:
            self._told.add("content")
            message._fields["parsed"] = parsed_content(self._format, message.content)
            yield Record({"type": "content.done", "content": message.content, "parsed": message.parsed})
        if logprobs is not None and "logprobs" not in self._told:
            self._told.add("logprobs")
            yield Record({"type": "logprobs.content.done", "content": logprobs.content})

    def _call_done(self) -> Iterator[Record]:
        if self._call is None or self._call in self._told:
            return
        self._told.add(self._call)
        function = self.record.message.tool_calls[self._call].function
        function._fields["parsed_arguments"] = \
            json.loads(function.arguments) if function.name in self._strict_tools else None
        yield Record({"type": "tool_calls.function.arguments.done", "name": function.name,
                      "index": self._call, "arguments": function.arguments,
                      "parsed_arguments": function.parsed_arguments})


class Assembler:
    """The answer so far, and the events of each chunk."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._format = fields.get("response_format")
        functions = [tool["function"] for tool in fields.get("tools") or [] if tool.get("type") == "function"]
        self._strict_tools = frozenset(one["name"] for one in functions if one.get("strict"))
        self._choices: list[_Choice] = []
        self.snapshot: Any = None

    def events(self, chunk: Any) -> list[Record]:
        """Adds a chunk. Raises LengthFinishReasonError if the text of a wanted object was cut."""
        if self.snapshot is None:
            self.snapshot = Record({**chunk._fields, "object": "chat.completion", "choices": []})
        events = [Record({"type": "chunk", "chunk": chunk, "snapshot": self.snapshot})]
        for key in ("usage", "system_fingerprint"):
            self.snapshot._fields[key] = getattr(chunk, key)
        for choice in chunk.choices:
            while choice.index >= len(self._choices):
                self._choices.append(_Choice(len(self._choices), self._strict_tools, self._format))
                self.snapshot.choices.append(self._choices[-1].record)
            if choice.finish_reason == "length" and (is_class(self._format) or self._strict_tools):
                raise LengthFinishReasonError(self.snapshot)
            events += self._choices[choice.index].events(choice)
        return events

    def whole(self) -> Any:
        """The answer. Raises LengthFinishReasonError if max_tokens cut a choice, as the package
        does."""
        for choice in self.snapshot.choices:
            if choice.finish_reason == "length":
                raise LengthFinishReasonError(self.snapshot)
        return self.snapshot


class ChatStream(Iterator[Any]):
    """Events of an answer: "chunk", and "content", "tool_calls.function.arguments" and
    "logprobs.content", each with ".delta" and ".done". With a class as response_format, or strict
    tools, `parsed` and `parsed_arguments` have the values so far, and at the end the object."""

    def __init__(self, stream: Stream, assembler: Assembler) -> None:
        self._stream = stream
        self._assembler = assembler
        self._events: list[Record] = []

    def __next__(self) -> Any:
        while not self._events:
            self._events = self._assembler.events(next(self._stream))
        return self._events.pop(0)

    @property
    def current_completion_snapshot(self) -> Any:
        """The answer so far, from the chunks that were read."""
        return self._assembler.snapshot

    def until_done(self) -> ChatStream:
        """Reads the rest."""
        for _ in self:
            pass
        return self

    def get_final_completion(self) -> Any:
        """Reads the rest and returns the whole answer. Raises LengthFinishReasonError if max_tokens
        cut it."""
        self.until_done()
        return self._assembler.whole()

    def close(self) -> None:
        """Cancels the rest."""
        self._stream.close()


class AsyncChatStream(AsyncIterator[Any]):
    """ChatStream for `async for`."""

    def __init__(self, stream: AsyncStream, assembler: Assembler) -> None:
        self._stream = stream
        self._assembler = assembler
        self._events: list[Record] = []

    async def __anext__(self) -> Any:
        while not self._events:
            self._events = self._assembler.events(await self._stream.__anext__())
        return self._events.pop(0)

    @property
    def current_completion_snapshot(self) -> Any:
        """The answer so far, from the chunks that were read."""
        return self._assembler.snapshot

    async def until_done(self) -> AsyncChatStream:
        """Reads the rest."""
        async for _ in self:
            pass
        return self

    async def get_final_completion(self) -> Any:
        """Reads the rest and returns the whole answer. Raises LengthFinishReasonError if max_tokens
        cut it."""
        await self.until_done()
        return self._assembler.whole()

    async def close(self) -> None:
        """Cancels the rest."""
        await self._stream.close()


class ChatStreamManager:
    """Result of stream(): the request begins and ends with the `with` (`async with`) block."""

    def __init__(self, begin: Callable[[], Any], fields: Mapping[str, Any]) -> None:
        self._begin = begin
        self._fields = fields
        self._stream: Any = None

    def __enter__(self) -> ChatStream:
        self._stream = self._begin()
        return ChatStream(self._stream, Assembler(self._fields))

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._stream.close()

    async def __aenter__(self) -> AsyncChatStream:
        self._stream = await self._begin()
        return AsyncChatStream(self._stream, Assembler(self._fields))

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self._stream.close()

"""OpenAI and AsyncOpenAI: the calls of OpenAI's package, each a route of the server."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar, Union
from urllib.parse import quote

from .._engine import Engine
from .._model import Model
from ._chat_stream import ChatStreamManager
from ._errors import LengthFinishReasonError, status_error
from ._raw import RawResponse
from ._records import record_of
from ._response_stream import ResponseParser, ResponseStreamManager, response_fields
from ._streams import AsyncStream, Stream
from ._transport import InProcessCall, InProcessServer, Part
from ._values import NOT_GIVEN, NotGiven, body_of, is_class, parsed_content, schema_format

Served = Union[str, "os.PathLike[str]", Model, Engine]
Finish = Callable[[Any], Any]
Self = TypeVar("Self", bound="_Client")
Resource = TypeVar("Resource", bound="_Resource")


def _served(model: Served) -> Union[Model, Engine]:
    return model if isinstance(model, (Model, Engine)) else Model(model)


def _name_of(model: Served) -> str:
    """That of the file without its ending, as `tenon serve` names models; else what the model says."""
    if isinstance(model, (Model, Engine)):
        return (model.model if isinstance(model, Engine) else model).info.name or "model"
    return Path(model).stem


def _whole(part: Part, data: bytes, finish: Optional[Finish], raw: bool) -> Any:
    """The record of a whole answer, or what makes it. Raises APIStatusError for one that is an error."""
    if part.status >= 400:
        body = json.loads(data) if data else {}
        raise status_error(body, RawResponse(part.status, part.headers, data))

    def parse() -> Any:
        made = record_of(json.loads(data) if data else {}, part.request_id)
        return made if finish is None else finish(made)
    return RawResponse(part.status, part.headers, data, parse) if raw else parse()


class _Resource:
    def __init__(self, client: _Client) -> None:
        self._client = client

    @property
    def with_raw_response(self: Resource) -> Resource:
        """The same calls; each returns its answer's status, headers and bytes, and parse()."""
        client = copy.copy(self._client)
        client._raw = True
        return type(self)(client)


class Completions(_Resource):
    """client.completions: texts that go on."""

    def create(self, **fields: Any) -> Any:
        """POST /v1/completions"""
        return self._client._post("/v1/completions", fields)


class ChatCompletions(_Resource):
    """client.chat.completions"""

    def create(self, **fields: Any) -> Any:
        """POST /v1/chat/completions; with stream=True a Stream of chunks."""
        return self._client._post("/v1/chat/completions", fields)

    def parse(self, *, response_format: Any, **fields: Any) -> Any:
        """create() with a class of pydantic as response_format; each message has an object of it, `parsed`.
        Raises LengthFinishReasonError where max_tokens cut the text."""
        def parsed(completion: Any) -> Any:
            for choice in completion.choices:
                if choice.finish_reason == "length" and is_class(response_format):
                    raise LengthFinishReasonError(completion)
                choice.message._fields["parsed"] = parsed_content(response_format, choice.message.content)
            return completion
        return self._client._post("/v1/chat/completions",
                                  {**fields, "response_format": schema_format(response_format)}, parsed)

    def stream(self, **fields: Any) -> ChatStreamManager:
        """create(stream=True) as a block that gives events: `with` it, or `async with`.

            with client.chat.completions.stream(model=..., messages=...) as stream:
                for event in stream:
                    if event.type == "content.delta":
                        print(event.delta, end="")
                answer = stream.get_final_completion()

        response_format may be a class of pydantic, as in parse()."""
        sent = {**fields, "stream": True}
        if "response_format" in fields:
            sent["response_format"] = schema_format(fields["response_format"])
        return ChatStreamManager(lambda: self.create(**sent), fields)


class Chat(_Resource):
    """client.chat"""

    @property
    def completions(self) -> ChatCompletions:
        """Answers to conversations."""
        return ChatCompletions(self._client)


class Responses(_Resource):
    """client.responses"""

    def create(self, **fields: Any) -> Any:
        """POST /v1/responses; with stream=True a Stream of events."""
        return self._client._post("/v1/responses", fields)

    def parse(self, **fields: Any) -> Any:
        """create() with a class of pydantic as text_format; the answer has an object of it, `output_parsed`."""
        return self._client._post("/v1/responses", response_fields(fields), ResponseParser(fields).response)

    def stream(self, **fields: Any) -> ResponseStreamManager:
        """create(stream=True) as a block that gives events: `with` it, or `async with`.

            with client.responses.stream(model=..., input=...) as stream:
                for event in stream:
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="")
                answer = stream.get_final_response()

        text_format may be a class of pydantic, as in parse()."""
        sent = {**response_fields(fields), "stream": True}
        return ResponseStreamManager(lambda: self.create(**sent), fields)

    def retrieve(self, response_id: str, **fields: Any) -> Any:
        """GET /v1/responses/ID"""
        return self._client._ask("GET", f"/v1/responses/{quote(response_id, safe='')}", fields)

    def delete(self, response_id: str, **fields: Any) -> Any:
        """DELETE /v1/responses/ID"""
        return self._client._ask("DELETE", f"/v1/responses/{quote(response_id, safe='')}", fields)


class Embeddings(_Resource):
    """client.embeddings, of a model that was opened with embeddings="on"."""

    def create(self, **fields: Any) -> Any:
        """POST /v1/embeddings"""
        return self._client._post("/v1/embeddings", fields)


class Models(_Resource):
    """client.models"""

    def list(self, **fields: Any) -> Any:
        """GET /v1/models: iterate over it, or take `data`."""
        return self._client._ask("GET", "/v1/models", fields)

    def retrieve(self, model: str, **fields: Any) -> Any:
        """GET /v1/models/NAME"""
        return self._client._ask("GET", f"/v1/models/{quote(model, safe='')}", fields)


class _Client:
    """What both clients are: a server in this process, and the resources over it."""

    def __init__(self, model: Optional[Served] = None, *, engine: Optional[Engine] = None,
                 models: Optional[Mapping[str, Served]] = None, name: Optional[str] = None,
                 context: int = 0, timeout: Optional[float] = None, api_key: Optional[str] = None,
                 max_retries: int = 0) -> None:
        one: Optional[Served] = engine if engine is not None else model
        if (one is None) == (models is None) or (engine is not None and model is not None):
            raise TypeError("one of model, engine and models is needed")
        served = {name or _name_of(one): one} if one is not None else dict(models or {})
        self._timeout = timeout
        self._raw = False
        self._server = InProcessServer({key: _served(value) for key, value in served.items()}, context)

    def with_options(self: Self, *, timeout: Union[float, NotGiven, None] = NOT_GIVEN,
                     api_key: Optional[str] = None, max_retries: int = 0) -> Self:
        """The same client, with another timeout. They share the server, which closing either frees."""
        other = copy.copy(self)
        if not isinstance(timeout, NotGiven):
            other._timeout = timeout
        return other

    copy = with_options

    @property
    def chat(self) -> Chat:
        """Conversations."""
        return Chat(self)

    @property
    def beta(self) -> _Client:
        """client.beta.chat.completions.parse is an older name of client.chat.completions.parse."""
        return self

    @property
    def completions(self) -> Completions:
        """Texts that go on."""
        return Completions(self)

    @property
    def responses(self) -> Responses:
        """Items, with stored responses."""
        return Responses(self)

    @property
    def embeddings(self) -> Embeddings:
        """Rows of numbers."""
        return Embeddings(self)

    @property
    def models(self) -> Models:
        """Which there are."""
        return Models(self)

    def _post(self, target: str, fields: Mapping[str, Any], finish: Optional[Finish] = None) -> Any:
        return self._ask("POST", target, fields, body_of(fields), finish)

    def _ask(self, method: str, target: str, fields: Mapping[str, Any], body: bytes = b"",
             finish: Optional[Finish] = None) -> Any:
        timeout = fields.get("timeout", self._timeout)
        call = self._server.request(method, target, body,
                                    timeout if isinstance(timeout, (int, float)) else None)
        return self._answer(call, fields.get("stream") is True, finish)

    def _answer(self, call: InProcessCall, streams: bool, finish: Optional[Finish]) -> Any:
        raise NotImplementedError


class OpenAI(_Client):
    """A client with the calls of openai.OpenAI, answered in this process. Any thread.

        client = OpenAI(model="demo-q8_0.gguf")

    model is a path or a Model, engine an Engine of yours, models any number of them by name. name is what
    requests call it: the file's name without its ending unless given. context: most tokens of a request's
    prompt and answer. timeout: seconds to the end of an answer, also in each call. api_key and max_retries
    are taken and mean nothing here."""

    def _answer(self, call: InProcessCall, streams: bool, finish: Optional[Finish]) -> Any:
        part = call.wait()
        if streams and part.status < 400:
            stream = Stream(call, part.data, part.is_last)
            return RawResponse(part.status, part.headers, None, lambda: stream) if self._raw else stream
        data = part.data
        while not part.is_last:
            part = call.wait()
            data += part.data
        return _whole(part, data, finish, self._raw)

    def close(self) -> None:
        """Ends what is under way with APIConnectionError, and frees the server."""
        self._server.cancel()

    def __enter__(self) -> OpenAI:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class AsyncOpenAI(_Client):
    """The same with calls to await, in any number beside each other: no thread belongs to a request."""

    async def _answer(self, call: InProcessCall, streams: bool, finish: Optional[Finish]) -> Any:
        part = await call.await_part()
        if streams and part.status < 400:
            stream = AsyncStream(call, part.data, part.is_last)
            return RawResponse(part.status, part.headers, None, lambda: stream) if self._raw else stream
        data = part.data
        while not part.is_last:
            part = await call.await_part()
            data += part.data
        return _whole(part, data, finish, self._raw)

    async def close(self) -> None:
        """Ends what is under way with APIConnectionError, and frees the server."""
        self._server.cancel()

    async def __aenter__(self) -> AsyncOpenAI:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

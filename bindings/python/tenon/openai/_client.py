"""OpenAI and AsyncOpenAI: the calls of OpenAI's package, each a route of the server."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, TypeVar, Union

from .._engine import Engine
from .._model import Model
from ._pages import AsyncPage, AsyncPaginator, Page, turned
from ._raw import RawResponse
from ._resources import Chat, Completions, Decisions, Embeddings, Models, Responses, not_served
from ._streamed import AsyncStreamedResponseManager, Finish, StreamedResponseManager, whole
from ._streams import AsyncStream, Stream
from ._transport import InProcessCall, InProcessServer
from ._values import NOT_GIVEN, body_of, is_given, query_of, seconds_of

Served = Union[str, "os.PathLike[str]", Model, Engine]
Self = TypeVar("Self", bound="_Client")
# Other names of OpenAI's clients.
_NOT_SERVED = frozenset("""
    admin audio batches containers content_provenance_checks conversations evals files fine_tuning images live
    moderations realtime safety skills uploads vector_stores videos webhooks
    """.split())


def _served(model: Served) -> Union[Model, Engine]:
    return model if isinstance(model, (Model, Engine)) else Model(model)


def _name_of(model: Served) -> str:
    """Default name of a model: the file's name without its ending, as `tenon serve` names models;
    else the model's own name."""
    if isinstance(model, (Model, Engine)):
        return (model.model if isinstance(model, Engine) else model).info.name or "model"
    return Path(model).stem


class _Client:
    """Base of both clients: a server in this process, and the resources over it."""

    def __init__(self, model: Optional[Served] = None, *, engine: Optional[Engine] = None,
                 models: Optional[Mapping[str, Served]] = None, name: Optional[str] = None,
                 context: int = 0, timeout: Optional[float] = None, api_key: Optional[str] = None,
                 max_retries: int = 0) -> None:
        one: Optional[Served] = engine if engine is not None else model
        if (one is None) == (models is None) or (engine is not None and model is not None):
            raise TypeError("one of model, engine and models is needed")
        served = {name or _name_of(one): one} if one is not None else dict(models or {})
        self.timeout = timeout
        self.api_key = api_key
        self.max_retries = max_retries
        self._answers = "records"
        self._server = InProcessServer({key: _served(value) for key, value in served.items()}, context)

    def with_options(self: Self, *, timeout: Any = NOT_GIVEN, **of_transport: Any) -> Self:
        """This client with another timeout. Both share the server, and closing either frees it.
        Transport options (max_retries, api_key, default_headers, ...) are accepted and have no
        effect."""
        other = copy.copy(self)
        if is_given(timeout):
            other.timeout = seconds_of(timeout)
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
        """Completions of texts."""
        return Completions(self)

    @property
    def responses(self) -> Responses:
        """Responses, with stored ones."""
        return Responses(self)

    @property
    def decisions(self) -> Decisions:
        """Probabilities of answers."""
        return Decisions(self)

    @property
    def embeddings(self) -> Embeddings:
        """Rows of numbers."""
        return Embeddings(self)

    @property
    def models(self) -> Models:
        """The models."""
        return Models(self)

    @property
    def with_raw_response(self: Self) -> Self:
        """This client, with calls that return the answer's status, headers and bytes, and parse().
        """
        return self._with("raw")

    @property
    def with_streaming_response(self: Self) -> Self:
        """This client, with calls that are blocks: iter_lines(), iter_bytes(), read(), parse() of
        the answer."""
        return self._with("streaming")

    def _with(self: Self, answers: str) -> Self:
        other = copy.copy(self)
        other._answers = answers
        return other

    def is_closed(self) -> bool:
        """True if it was closed."""
        return self._server.is_closed

    def get(self, path: str, *, cast_to: Any = None, options: Optional[Mapping[str, Any]] = None) -> Any:
        """Any route: client.get("/models", cast_to=object). cast_to: object and dict give JSON
        values."""
        return self._route("GET", path, cast_to, None, options)

    def post(self, path: str, *, cast_to: Any = None, body: Optional[Mapping[str, Any]] = None,
             options: Optional[Mapping[str, Any]] = None, stream: bool = False, stream_cls: Any = None) -> Any:
        """Any route: client.post("/tokenize", body={...}, cast_to=object)."""
        return self._route("POST", path, cast_to, {**(body or {}), **({"stream": True} if stream else {})}, options)

    def delete(self, path: str, *, cast_to: Any = None, options: Optional[Mapping[str, Any]] = None) -> Any:
        """Any route."""
        return self._route("DELETE", path, cast_to, None, options)

    def _route(self, method: str, path: str, cast_to: Any, body: Optional[Mapping[str, Any]],
               options: Optional[Mapping[str, Any]]) -> Any:
        fields = {"timeout": (options or {}).get("timeout", NOT_GIVEN), "stream": (body or {}).get("stream", False)}
        plain = cast_to in (object, dict) and not fields["stream"]
        return self._ask(method, f"/v1/{path.lstrip('/')}", fields, b"" if body is None else body_of(body),
                         (lambda record: record.to_dict()) if plain else None, (options or {}).get("params"))

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_SERVED:
            not_served(name)
        raise AttributeError(f"the client has no {name}")

    def _post(self, target: str, fields: Mapping[str, Any], finish: Optional[Finish] = None) -> Any:
        return self._ask("POST", target, fields, body_of(fields), finish)

    def _list(self, target: str, fields: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def _ask(self, method: str, target: str, fields: Mapping[str, Any], body: bytes = b"",
             finish: Optional[Finish] = None, query: Optional[Mapping[str, Any]] = None) -> Any:
        given = fields.get("timeout", NOT_GIVEN)
        timeout = seconds_of(given) if is_given(given) else self.timeout
        asked = query_of({**(query or {}), **(fields.get("extra_query") or {})})

        def begin() -> InProcessCall:
            return self._server.request(method, target + asked, body, timeout)
        return self._answered(begin, fields.get("stream") is True and method == "POST", finish)

    def _answered(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> Any:
        raise NotImplementedError


class OpenAI(_Client):
    """A client with the calls of openai.OpenAI, answered in this process. Any thread.

        client = OpenAI(model="demo-q8_0.gguf")

    model is a path or a Model, engine an Engine of yours, models any number of them by name. name
    is the model's name in requests, by default the file's name without its ending. context: most
    tokens of a request's prompt and answer. timeout: seconds to the end of an answer, also in each
    call. api_key and max_retries are accepted and have no effect."""

    def _list(self, target: str, fields: Mapping[str, Any]) -> Any:
        def turn(query: Mapping[str, Any]) -> Any:
            return self._ask("GET", target, fields, finish=lambda page: turned(page, Page, turn, query), query=query)
        return turn(fields)

    def _answered(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> Any:
        if self._answers == "streaming":
            return StreamedResponseManager(begin, streams, finish)
        call = begin()
        part = call.wait()
        raw = self._answers == "raw"
        if streams and part.status < 400:
            stream = Stream(call, part.data, part.is_last)
            return RawResponse(part.status, part.headers, None, lambda: stream) if raw else stream
        data = part.data
        while not part.is_last:
            part = call.wait()
            data += part.data
        return whole(part, data, finish, raw)

    def close(self) -> None:
        """Ends running calls with APIConnectionError, and frees the server."""
        self._server.cancel()

    def __enter__(self) -> OpenAI:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class AsyncOpenAI(_Client):
    """OpenAI with awaitable calls, any number of them concurrently: no thread belongs to a request.
    """

    def _list(self, target: str, fields: Mapping[str, Any]) -> Any:
        def turn(query: Mapping[str, Any]) -> Any:
            return self._ask("GET", target, fields, query=query,
                             finish=lambda page: turned(page, AsyncPage, turn, query))
        return turn(fields) if self._answers != "records" else AsyncPaginator(lambda: turn(fields))

    def _answered(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> Any:
        if self._answers == "streaming":
            return AsyncStreamedResponseManager(begin, streams, finish)
        return self._await_answer(begin, streams, finish)

    async def _await_answer(self, begin: Callable[[], InProcessCall], streams: bool, finish: Optional[Finish]) -> Any:
        call = begin()
        part = await call.await_part()
        raw = self._answers == "raw"
        if streams and part.status < 400:
            stream = AsyncStream(call, part.data, part.is_last)
            return RawResponse(part.status, part.headers, None, lambda: stream) if raw else stream
        data = part.data
        while not part.is_last:
            part = await call.await_part()
            data += part.data
        return whole(part, data, finish, raw)

    async def close(self) -> None:
        """Ends running calls with APIConnectionError, and frees the server."""
        self._server.cancel()

    async def __aenter__(self) -> AsyncOpenAI:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

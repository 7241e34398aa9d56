"""The resources of OpenAI's clients, each call a route of the server."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote

from .._errors import UnsupportedError
from ._chat_stream import ChatStreamManager
from ._errors import LengthFinishReasonError
from ._response_stream import ResponseParser, ResponseStreamManager, response_fields
from ._values import is_class, parsed_content, schema_format

if TYPE_CHECKING:
    from ._client import _Client

Resource = TypeVar("Resource", bound="_Resource")


class NotServedError(UnsupportedError, AttributeError):
    """A part of OpenAI's interface that needs OpenAI's machines: files, images, batches, ..."""


def not_served(name: str) -> NoReturn:
    """Raises the error of an unsupported part."""
    raise NotServedError(f"client.{name} is not served in this process: chat.completions, responses, completions, "
                         "embeddings, decisions and models are")


class _Resource:
    def __init__(self, client: _Client) -> None:
        self._client = client

    @property
    def with_raw_response(self: Resource) -> Resource:
        """The resource with calls that return their answer's status, headers and bytes, and
        parse()."""
        return self._with("raw")

    @property
    def with_streaming_response(self: Resource) -> Resource:
        """The resource with calls as blocks (`with`, `async with`): iter_lines(), iter_bytes(),
        read(), parse() of answers."""
        return self._with("streaming")

    def _with(self: Resource, answers: str) -> Resource:
        client = copy.copy(self._client)
        client._answers = answers
        return type(self)(client)


class Completions(_Resource):
    """client.completions"""

    def create(self, **fields: Any) -> Any:
        """POST /v1/completions"""
        return self._client._post("/v1/completions", fields)


class ChatCompletions(_Resource):
    """client.chat.completions"""

    def create(self, **fields: Any) -> Any:
        """POST /v1/chat/completions; with stream=True a Stream of chunks."""
        return self._client._post("/v1/chat/completions", fields)

    def parse(self, *, response_format: Any, **fields: Any) -> Any:
        """create() with a class of pydantic as response_format; each message has an object of it,
        `parsed`. Raises LengthFinishReasonError if max_tokens cut the text."""
        def parsed(completion: Any) -> Any:
            for choice in completion.choices:
                if choice.finish_reason == "length" and is_class(response_format):
                    raise LengthFinishReasonError(completion)
                choice.message._fields["parsed"] = parsed_content(response_format, choice.message.content)
            return completion
        return self._client._post("/v1/chat/completions",
                                  {**fields, "response_format": schema_format(response_format)}, parsed)

    def stream(self, **fields: Any) -> ChatStreamManager:
        """create(stream=True) as a block that gives events, `with` or `async with`.

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

    def __getattr__(self, name: str) -> Any:
        if name in ("list", "retrieve", "update", "delete", "messages"):  # calls for stored answers
            not_served(f"chat.completions.{name}")
        raise AttributeError(name)


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
        """create() with a class of pydantic as text_format; the answer has an object of it,
        `output_parsed`."""
        return self._client._post("/v1/responses", response_fields(fields), ResponseParser(fields).response)

    def stream(self, **fields: Any) -> ResponseStreamManager:
        """create(stream=True) as a block that gives events, `with` or `async with`.

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
        return self._client._ask("GET", f"/v1/responses/{quote(response_id, safe='')}", fields, query=fields)

    def delete(self, response_id: str, **fields: Any) -> Any:
        """DELETE /v1/responses/ID"""
        return self._client._ask("DELETE", f"/v1/responses/{quote(response_id, safe='')}", fields)

    def cancel(self, response_id: str, **fields: Any) -> Any:
        """POST /v1/responses/ID/cancel: for responses in the background, which do not exist here:
        APIStatusError."""
        return self._client._ask("POST", f"/v1/responses/{quote(response_id, safe='')}/cancel", fields)

    def compact(self, **fields: Any) -> Any:
        """POST /v1/responses/compact"""
        return self._client._post("/v1/responses/compact", fields)

    @property
    def input_items(self) -> InputItems:
        """Items of stored responses' inputs."""
        return InputItems(self._client)

    @property
    def input_tokens(self) -> InputTokens:
        """Token counts of prompts."""
        return InputTokens(self._client)

    def __getattr__(self, name: str) -> Any:
        if name == "connect":
            not_served("responses.connect")
        raise AttributeError(name)


class InputItems(_Resource):
    """client.responses.input_items"""

    def list(self, response_id: str, **fields: Any) -> Any:
        """GET /v1/responses/ID/input_items: a page; iterating continues with the next ones."""
        return self._client._list(f"/v1/responses/{quote(response_id, safe='')}/input_items", fields)


class InputTokens(_Resource):
    """client.responses.input_tokens"""

    def count(self, **fields: Any) -> Any:
        """POST /v1/responses/input_tokens"""
        return self._client._post("/v1/responses/input_tokens", fields)


class Decisions(_Resource):
    """client.decisions"""

    def create(self, **fields: Any) -> Any:
        """POST /v1/decisions"""
        return self._client._post("/v1/decisions", fields)


class Embeddings(_Resource):
    """client.embeddings, for a model opened with embeddings="on"."""

    def create(self, **fields: Any) -> Any:
        """POST /v1/embeddings"""
        return self._client._post("/v1/embeddings", fields)


class Models(_Resource):
    """client.models"""

    def list(self, **fields: Any) -> Any:
        """GET /v1/models: iterate over it, or take `data`."""
        return self._client._list("/v1/models", fields)

    def retrieve(self, model: str, **fields: Any) -> Any:
        """GET /v1/models/NAME"""
        return self._client._ask("GET", f"/v1/models/{quote(model, safe='')}", fields)

    def __getattr__(self, name: str) -> Any:
        if name == "delete":
            not_served("models.delete")
        raise AttributeError(name)

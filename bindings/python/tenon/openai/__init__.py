"""The client of OpenAI's Python package, in this process: the same calls and objects, without a
network.

    from tenon.openai import OpenAI
    client = OpenAI(model="demo-q8_0.gguf")
    answer = client.chat.completions.create(
        model="demo-q8_0", messages=[{"role": "user", "content": "What is the capital of Norway?"}])
    print(answer.choices[0].message.content)

libtenon-server answers requests and needs no socket for that (tenon/server.h), so docs/server.md
describes the routes. Nothing of the package `openai` is needed."""

from ._client import AsyncOpenAI, OpenAI
from ._errors import (APIConnectionError, APIError, APIResponseValidationError, APIStatusError, APITimeoutError,
                      AuthenticationError, BadRequestError, ConflictError, ContentFilterFinishReasonError,
                      InternalServerError, LengthFinishReasonError, NotFoundError, OpenAIError,
                      PermissionDeniedError, RateLimitError, UnprocessableEntityError)
from ._pages import AsyncPage, AsyncPaginator, Page
from ._raw import RawResponse
from ._records import Record
from ._resources import NotServedError
from ._streamed import AsyncStreamedResponse, StreamedResponse
from ._streams import AsyncStream, Stream
from ._values import NOT_GIVEN, NotGiven, Omit, not_given, omit

Client, AsyncClient = OpenAI, AsyncOpenAI  # their older names

__all__ = [
    "APIConnectionError", "APIError", "APIResponseValidationError", "APIStatusError", "APITimeoutError",
    "AsyncClient", "AsyncOpenAI", "AsyncPage", "AsyncPaginator", "AsyncStream", "AsyncStreamedResponse",
    "AuthenticationError", "BadRequestError", "Client", "ConflictError", "ContentFilterFinishReasonError",
    "InternalServerError", "LengthFinishReasonError", "NOT_GIVEN", "NotFoundError", "NotGiven", "NotServedError",
    "Omit", "OpenAI", "OpenAIError", "Page", "PermissionDeniedError", "RateLimitError", "RawResponse", "Record",
    "Stream", "StreamedResponse", "UnprocessableEntityError", "not_given", "omit",
]

"""The exceptions of OpenAI's package, by the status of the answer."""

from __future__ import annotations

from typing import Any, Optional

from ._raw import RawResponse


class OpenAIError(Exception):
    """Base of all exceptions."""


class APIError(OpenAIError):
    """An answer that is an error. `body` is its member "error", which has code, param and type."""

    def __init__(self, message: str, body: Optional[object] = None) -> None:
        super().__init__(message)
        self.message = message
        self.body = body
        of_body: dict[str, Any] = body if isinstance(body, dict) else {}
        self.code: Optional[str] = of_body.get("code")
        self.param: Optional[str] = of_body.get("param")
        self.type: Optional[str] = of_body.get("type")


class LengthFinishReasonError(OpenAIError):
    """max_tokens cut an answer that was to become an object. `completion` is that answer."""

    def __init__(self, completion: Any) -> None:
        super().__init__("max_tokens cut the answer: there is no whole object in it")
        self.completion = completion


class ContentFilterFinishReasonError(OpenAIError):
    """Never raised: answers are not filtered."""


class APIResponseValidationError(APIError):
    """Never raised: answers are not validated again."""


class APIConnectionError(APIError):
    """The client or its engine was closed before the answer."""


class APITimeoutError(APIConnectionError):
    """The timeout passed."""


class APIStatusError(APIError):
    """An answer with a status from 400 on."""

    def __init__(self, message: str, *, response: RawResponse, body: Optional[object]) -> None:
        super().__init__(message, body)
        self.response = response
        self.status_code = response.status_code
        self.request_id = response.request_id

    def __reduce__(self) -> Any:
        return _status_error_of, (type(self), self.message, self.response, self.body)


def _status_error_of(kind: type[APIStatusError], message: str, response: RawResponse, body: object) -> APIStatusError:
    """Restores a pickled one."""
    return kind(message, response=response, body=body)


class BadRequestError(APIStatusError):
    """400: `param` names the field that is wrong."""


class AuthenticationError(APIStatusError):
    """401."""


class PermissionDeniedError(APIStatusError):
    """403."""


class NotFoundError(APIStatusError):
    """404: no such model, or response."""


class ConflictError(APIStatusError):
    """409."""


class UnprocessableEntityError(APIStatusError):
    """422."""


class RateLimitError(APIStatusError):
    """429: the queue of the engine is full."""


class InternalServerError(APIStatusError):
    """500 and more."""


_BY_STATUS = {400: BadRequestError, 401: AuthenticationError, 403: PermissionDeniedError,
              404: NotFoundError, 409: ConflictError, 422: UnprocessableEntityError, 429: RateLimitError}


def status_error(body: object, response: RawResponse) -> APIStatusError:
    """The exception of an answer whose body is {"error": {...}}."""
    status = response.status_code
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    kind = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
    return kind(f"Error code: {status} - {message or body}", response=response, body=error)

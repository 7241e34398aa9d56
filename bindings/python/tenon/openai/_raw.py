"""Raw answers: status, headers and bytes, for with_raw_response and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Optional

from .._server import Headers


class RawResponse:
    """Result of a call on `with_raw_response`: `parse()` gives the result of the call itself."""

    def __init__(self, status: int, headers: Mapping[str, str], content: Optional[bytes],
                 parse: Optional[Callable[[], Any]] = None) -> None:
        self.status_code = status
        # Properties that a transport would give the body.
        kind = "application/json" if content is not None else "text/event-stream"
        self.headers = Headers({"content-type": kind, **headers})
        self._content = content
        self._parse = parse or self.json
        self._parsed: Any = None

    def __reduce__(self) -> Any:
        """Pickles a whole answer, without the result of parse()."""
        return RawResponse, (self.status_code, dict(self.headers), self.content)

    @property
    def request_id(self) -> Optional[str]:
        """The request's name in the server's log."""
        return self.headers["x-request-id"] if "x-request-id" in self.headers else None

    @property
    def content(self) -> bytes:
        """The body. A stream has none before it is read: RuntimeError."""
        if self._content is None:
            raise RuntimeError("a stream is read by parse()")
        return self._content

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode()

    def json(self) -> Any:
        """The body parsed as JSON."""
        return json.loads(self.content)

    def parse(self) -> Any:
        """The record, or the stream, of the answer: the same object each time."""
        if self._parsed is None:
            self._parsed = self._parse()
        return self._parsed

"""Arguments as the fields of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Optional
from urllib.parse import urlencode


class NotGiven:
    """The value of an omitted argument."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = not_given = NotGiven()


class Omit(NotGiven):
    """NotGiven under its newer name."""

    def __repr__(self) -> str:
        return "omit"


omit = Omit()
# Arguments of a client over HTTP that are not fields of the request; headers have no effect here.
_OF_TRANSPORT = ("extra_headers", "extra_query", "timeout")


def _plain(value: object) -> object:
    """Converts values that json does not know: our records, and models of pydantic."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a {type(value).__name__} is no value of a request")
    return dump(exclude_none=True)


def body_of(fields: Mapping[str, Any]) -> bytes:
    """JSON of the fields of a call."""
    extra: Optional[Mapping[str, Any]] = fields.get("extra_body")
    # The package has sentinels of its own, which know their name.
    given = {key: value for key, value in fields.items()
             if is_given(value) and key not in _OF_TRANSPORT
             and key != "extra_body"}
    return json.dumps({**given, **(extra or {})}, default=_plain).encode()


def is_given(value: object) -> bool:
    """True unless the argument is a sentinel, ours or the package's."""
    return type(value).__name__ not in ("NotGiven", "Omit")


def seconds_of(timeout: Any) -> Optional[float]:
    """Seconds of a timeout: a number, None, or httpx.Timeout, of which `read` counts."""
    if timeout is None or isinstance(timeout, (int, float)):
        return timeout
    return seconds_of(getattr(timeout, "read", None))


def query_of(fields: Mapping[str, Any]) -> str:
    """Given arguments as the query of a target: "?after=..."."""
    given = [(key, str(value).lower() if isinstance(value, bool) else value) for key, value in fields.items()
             if is_given(value) and value is not None and key not in _OF_TRANSPORT
             and key != "extra_body"]
    query = urlencode(given, doseq=True)
    return f"?{query}" if query else ""


def is_class(wanted: Any) -> bool:
    """True if a response_format is a class of pydantic."""
    return hasattr(wanted, "model_json_schema")


def parsed_content(wanted: Any, content: Optional[str]) -> Any:
    """The text of an answer as an object of the class; None without one."""
    return wanted.model_validate_json(content) if is_class(wanted) and content else None


def schema_format(wanted: Any) -> Any:
    """A class of pydantic as response_format; other values unchanged."""
    if not is_class(wanted):
        return wanted
    return {"type": "json_schema", "json_schema": {"name": wanted.__name__, "strict": True,
                                                   "schema": wanted.model_json_schema()}}

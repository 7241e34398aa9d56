"""The value of an incomplete JSON text."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[-+.\w]+|[][{},:]')


def partial_json(text: str) -> Any:
    """Objects and lists as far as they go, without a string, number, name or key that is cut. None
    if there is no value yet. Raises ValueError if the complete values are not JSON.

        partial_json('{"name": "Ada", "born": [18, 12') == {"name": "Ada", "born": [18, 12]}
    """
    closers: list[str] = []
    whole, missing = 0, ""  # end of the last complete value, and the text that closes the objects around it
    at, before = 0, ""
    while found := _TOKEN.match(text, at):
        token, at = found.group(), found.end()
        if token.isspace():
            continue
        is_key = closers[-1:] == ["}"] and before in ("{", ",")
        if token in "{[":
            closers.append("}" if token == "{" else "]")
        elif token in "}]" and closers:
            closers.pop()
        before = token
        if token not in ",:" and not is_key and (token[0] in '"{}[]' or _is_scalar(token)):
            whole, missing = at, "".join(reversed(closers))
            if not closers:
                break
    return json.loads(text[:whole] + missing) if whole > 0 else None


def _is_scalar(token: str) -> bool:
    try:
        json.loads(token)
    except ValueError:
        return False
    return True

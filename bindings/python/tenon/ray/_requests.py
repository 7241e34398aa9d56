"""Requests that travel between processes: a prompt, and options that are all JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Union

from .._chat import Chat
from .._engine import Engine, Generation
from .._sampler import Grammar

Prompt = Union[str, Sequence[int], Sequence[Mapping[str, Any]]]
"""A text, tokens, or the messages of a conversation."""

_GRAMMARS = {"json_schema": Grammar.json_schema, "regex": Grammar.regex, "gbnf": Grammar.gbnf,
             "choices": Grammar.choices}
# A sampler belongs to a process; `sampling` has its options.
_REFUSED = ("sampler",)


def is_conversation(prompt: Prompt) -> bool:
    """True if it is messages."""
    return not isinstance(prompt, str) and len(prompt) > 0 and isinstance(prompt[0], Mapping)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises TypeError for values that cannot travel."""
    for name in _REFUSED:
        if options.get(name) is not None:
            raise TypeError(f"{name} is an object of this process: give its options as sampling={{...}}")
    grammar = options.get("grammar")
    if grammar is not None and (not isinstance(grammar, Mapping) or len(grammar) != 1
                                or next(iter(grammar)) not in _GRAMMARS):
        raise TypeError(f"grammar is a dict of one of {', '.join(_GRAMMARS)}, such as {{'regex': '[a-z]+'}}")


def texts_of(prompt: Prompt) -> list[str]:
    """Texts of a prompt, cut where a longer prompt may continue differently: between messages."""
    if isinstance(prompt, str):
        return [prompt]
    if is_conversation(prompt):
        return [json.dumps(message, sort_keys=True) for message in prompt]
    return [",".join(str(token) for token in prompt)]


class Generator:
    """An engine that generates for such requests."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._chat: Union[Chat, None] = None

    def generate(self, prompt: Prompt, options: Mapping[str, Any]) -> Generation:
        """Begins a generation. `tools`, with messages, are functions that the model may call."""
        given = dict(options)
        tools = given.pop("tools", None)
        if given.get("grammar") is not None:
            (kind, text), = given["grammar"].items()
            given["grammar"] = _GRAMMARS[kind](text)
        if not is_conversation(prompt):
            return self.engine.stream(prompt, **given)  # type: ignore[arg-type]
        if self._chat is None:
            self._chat = Chat(self.engine.model)
        conversation: dict[str, Any] = {"messages": list(prompt)}
        if tools:
            conversation["tools"] = tools
        return self.engine.stream(self._chat.encode(conversation), **given)

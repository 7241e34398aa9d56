"""Chats: conversations as prompts, and answers taken apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._native import ChatDelta, Handle
from ._objects import Object, options_handle
from ._sampler import Grammar, Sampler

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model
    from ._options import ChatOptions

Conversation = Union[str, Mapping[str, Any]]


def _json(conversation: Conversation) -> str:
    return conversation if isinstance(conversation, str) else json.dumps(conversation)


class Chat(Object):
    """Turns conversations ({"messages": [...], "tools": [...]}) into prompts, by the template of a model
    or one of yours. Any thread."""

    __slots__ = ()

    def __init__(self, model: Optional[Model] = None, **options: Unpack[ChatOptions]) -> None:
        self._handle = _native.chat_create(None if model is None else model._handle,
                                           options_handle(options))

    @property
    def format(self) -> str:
        """The family by which answers are read."""
        return _native.chat_format(self._handle)

    def render(self, conversation: Conversation) -> str:
        """The prompt as text."""
        return _native.chat_render(self._handle, _json(conversation))

    def encode(self, conversation: Conversation) -> list[int]:
        """The prompt as tokens, for Session.generate."""
        return _native.chat_encode(self._handle, _json(conversation))

    def grammar(self, conversation: Conversation) -> Optional[Grammar]:
        """What the answer may be; None: anything."""
        handle = _native.chat_grammar(self._handle, _json(conversation))
        return None if handle is None else Grammar._of(handle)

    def constrain(self, conversation: Conversation, sampler: Sampler) -> bool:
        """Sets that grammar; whether there is one."""
        return _native.chat_constrain(self._handle, _json(conversation), sampler._handle) != 0

    def reply(self, conversation: Conversation) -> Reply:
        """Begins to read the answer."""
        return Reply._of(_native.chat_reply_create(self._handle, _json(conversation)))


class Reply(Object):
    """An answer that is read as it comes. One thread at a time."""

    __slots__ = ()

    @classmethod
    def _of(cls, handle: Handle) -> Reply:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def push(self, part: Union[int, str]) -> list[ChatDelta]:
        """Takes the next token, or text; what it amounts to."""
        deltas: list[ChatDelta] = []
        if isinstance(part, str):
            _native.chat_reply_push_text(self._handle, part, deltas.append)
        else:
            _native.chat_reply_push_token(self._handle, part, deltas.append)
        return deltas

    def finish(self) -> list[ChatDelta]:
        """The answer is complete."""
        deltas: list[ChatDelta] = []
        _native.chat_reply_finish(self._handle, deltas.append)
        return deltas

    def message(self) -> dict[str, Any]:
        """The answer so far as a message of a conversation."""
        message: dict[str, Any] = json.loads(_native.chat_reply_message(self._handle))
        return message

"""Chats: conversations as prompts, and answers parsed into parts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native, constants
from ._engine import GenerateOptions, Generation, Piece
from ._errors import StateError
from ._native import ChatDelta, Handle
from ._objects import Object, check_names, options_handle
from ._sampler import Grammar, Sampler, Schema, schema_of
from ._session import Session, sampler_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model
    from ._options import ChatOptions

Conversation = Union[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]

# Kind of a part of an answer, by TENON_CHAT_*.
_KINDS = {constants.CHAT_CONTENT: "content", constants.CHAT_REASONING: "reasoning",
          constants.CHAT_CALL_BEGIN: "call", constants.CHAT_ARGUMENTS: "arguments",
          constants.CHAT_CALL_END: "call_end", constants.CHAT_CALL_RETRACT: "call_retract"}


def _members(conversation: Conversation) -> dict[str, Any]:
    if isinstance(conversation, str):
        read: Any = json.loads(conversation)
        conversation = read
    return {**conversation} if isinstance(conversation, Mapping) else {"messages": [*conversation]}


def _json(conversation: Conversation) -> str:
    if isinstance(conversation, str):
        return conversation
    return json.dumps(conversation if isinstance(conversation, Mapping) else {"messages": [*conversation]})


class AnswerOptions(GenerateOptions, total=False):
    """Options of a chat's answer: those of a generation without `sampler`, `grammar` and the
    options of a text."""

    schema: Optional[Schema]
    """Makes the answer JSON by this schema: a dict, a text, or a class of pydantic."""
    tools: Sequence[Mapping[str, Any]]
    """Replaces the tools of the conversation."""
    drop_oldest: bool
    """Drops the oldest turns if the conversation leaves no room for the answer."""


_NOT_OF_CHATS = ("sampler", "grammar", "add_special", "parse_special", "ignore_end")


class ChatPart(str):
    """A part of an answer: its text. `kind` is "content", "reasoning", "call" (name of the tool;
    `id`), "arguments" (more of their JSON), "call_end" or "call_retract" (forget the call: its text
    follows as content)."""

    __slots__ = ("kind", "call", "id")
    kind: str
    call: int
    id: str


def _part(delta: ChatDelta) -> ChatPart:
    part = ChatPart(delta.text)
    part.kind, part.call, part.id = _KINDS.get(delta.kind, "content"), delta.call, delta.id
    return part


class ChatAnswer:
    """A running answer to a conversation: iterate over its parts with `for` or `async for`. It is
    cancelled by `close`, the end of a `with` or `async with` block, or the last reference."""

    __slots__ = ("_generation", "_reply", "_parts", "_message", "_finish")

    def __init__(self, generation: Generation, reply: Reply) -> None:
        self._generation = generation
        self._reply = reply
        self._parts: list[ChatPart] = []
        self._message: Optional[dict[str, Any]] = None
        self._finish: Optional[str] = None

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message, to be appended to the conversation's. Reads the parts that are
        left."""
        for _ in self:
            pass
        assert self._message is not None
        return self._message

    async def amessage(self) -> dict[str, Any]:
        """As `message`, for event loops."""
        async for _ in self:
            pass
        assert self._message is not None
        return self._message

    @property
    def finish(self) -> Optional[str]:
        """Why the answer ended: "end", "max_tokens", "stop"; None while it has not."""
        return self._finish

    @property
    def seed(self) -> int:
        """Seed of the answer; as the option `seed` it gives the same answer again."""
        return self._generation.seed

    @property
    def session(self) -> Session:
        """The session whose text it continues."""
        return self._generation.session

    def cancel(self) -> None:
        """Ends the answer with CancelledError for its readers. Any thread."""
        self._generation.cancel()

    def close(self) -> None:
        """Cancels the answer and releases the session."""
        self._generation.close()

    def _take(self, piece: Optional[Piece]) -> None:
        """Next part; None at the end."""
        if piece is not None:
            self._parts = [_part(delta) for delta in self._reply.push_piece(piece)]
            self._finish = piece.finish
        elif self._message is None:
            self._parts = [_part(delta) for delta in self._reply.finish()]
            self._message = self._reply.message()
        self._parts.reverse()

    def __iter__(self) -> Iterator[ChatPart]:
        return self

    def __next__(self) -> ChatPart:
        while not self._parts:
            if self._message is not None:
                raise StopIteration
            self._take(next(self._generation, None))
        return self._parts.pop()

    def __aiter__(self) -> AsyncIterator[ChatPart]:
        return self

    async def __anext__(self) -> ChatPart:
        while not self._parts:
            if self._message is not None:
                raise StopAsyncIteration
            try:
                piece: Optional[Piece] = await self._generation.__anext__()
            except StopAsyncIteration:
                piece = None
            self._take(piece)
        return self._parts.pop()

    def __enter__(self) -> ChatAnswer:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> ChatAnswer:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()


class Chat(Object):
    """Turns conversations (a list of messages, or {"messages": [...], "tools": [...]}) into
    prompts, by a model's template or yours, and generates answers. Any thread.

        chat = tenon.Chat(model)
        message = chat.answer([{"role": "user", "content": "What is the capital of Norway?"}],
                              max_tokens=40)
    """

    __slots__ = ("_model",)

    def __init__(self, model: Optional[Model] = None, **options: Unpack[ChatOptions]) -> None:
        self._model = model
        self._handle = _native.chat_create(None if model is None else model._handle,
                                           options_handle(options))

    @property
    def format(self) -> str:
        """The format by which answers are parsed."""
        return _native.chat_format(self._handle)

    def answer(self, conversation: Conversation, *, session: Optional[Session] = None,
               **options: Unpack[AnswerOptions]) -> dict[str, Any]:
        """Runs one turn and returns the answer as a message, to be appended to the conversation's.
        session: the session of this conversation, so that its computed tokens are reused; None: a
        new one."""
        with self._stream(conversation, session, options, "answer") as answer:
            return answer.message

    async def aanswer(self, conversation: Conversation, *, session: Optional[Session] = None,
                      **options: Unpack[AnswerOptions]) -> dict[str, Any]:
        """As `answer`, for event loops."""
        async with self._stream(conversation, session, options, "aanswer") as answer:
            return await answer.amessage()

    def stream(self, conversation: Conversation, *, session: Optional[Session] = None,
               **options: Unpack[AnswerOptions]) -> ChatAnswer:
        """Runs one turn and streams it: iterate over the parts with `for` or `async for`; `message`
        has the whole afterwards."""
        return self._stream(conversation, session, options, "stream")

    def _stream(self, conversation: Conversation, session: Optional[Session], options: Mapping[str, Any],
                call: str) -> ChatAnswer:
        known = [name for name in AnswerOptions.__annotations__ if name not in _NOT_OF_CHATS]
        check_names(call, options, known)
        if self._model is None:
            raise StateError("the chat was made without a model: it has no answers")
        members = _members(conversation)
        if options.get("schema") is not None:
            schema = schema_of(options["schema"])
            members["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "answer", "schema": json.loads(schema) if isinstance(schema, str) else schema}}
        if options.get("tools") is not None:
            members["tools"] = [*options["tools"]]
        sampler = sampler_of(options) or Sampler()
        flags = constants.DROP_OLDEST if options.get("drop_oldest") else 0
        own = session is None
        if session is None:
            session = self._model.session()
        try:
            reply = Reply._of(_native.chat_begin(self._handle, session._handle, json.dumps(members),
                                                 sampler._handle, options.get("max_tokens", 0), flags))
            rest = {name: value for name, value in options.items()
                    if name in ("max_tokens", "logprobs", "timeout", "priority", "client", "weight")}
            return ChatAnswer(session._generate(None, {**rest, "sampler": sampler}, owns_session=own), reply)
        except BaseException:
            if own:
                session.close()
            raise

    def render(self, conversation: Conversation) -> str:
        """The prompt as text, for inspection. Session.generate would not find control tokens in it:
        use `encode` for that, or `answer` for the whole turn."""
        return _native.chat_render(self._handle, _json(conversation))

    def encode(self, conversation: Conversation) -> list[int]:
        """The prompt as tokens, for Session.generate."""
        return _native.chat_encode(self._handle, _json(conversation))

    def grammar(self, conversation: Conversation) -> Optional[Grammar]:
        """Grammar of the answer; None if any answer may come."""
        handle = _native.chat_grammar(self._handle, _json(conversation))
        return None if handle is None else Grammar._of(handle)

    def constrain(self, conversation: Conversation, sampler: Sampler) -> bool:
        """Attaches the grammar of the answer to a sampler. Returns False if any answer may come."""
        return _native.chat_constrain(self._handle, _json(conversation), sampler._handle) != 0

    def reply(self, conversation: Conversation) -> Reply:
        """Begins to parse the answer."""
        return Reply._of(_native.chat_reply_create(self._handle, _json(conversation)))


class Reply(Object):
    """A parser of one answer. One thread at a time."""

    __slots__ = ()

    @classmethod
    def _of(cls, handle: Handle) -> Reply:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def push(self, part: Union[int, str]) -> list[ChatDelta]:
        """Takes the next token or text; returns the parsed parts."""
        deltas: list[ChatDelta] = []
        if isinstance(part, str):
            _native.chat_reply_push_text(self._handle, part, deltas.append)
        else:
            _native.chat_reply_push_token(self._handle, part, deltas.append)
        return deltas

    def push_piece(self, piece: Piece) -> list[ChatDelta]:
        """Takes a piece of a generation; text held back for a stop text waits."""
        deltas: list[ChatDelta] = []
        token = constants.NO_TOKEN if piece.token is None else piece.token
        _native.chat_reply_push_piece(self._handle, token, str(piece), deltas.append)
        return deltas

    def finish(self) -> list[ChatDelta]:
        """Ends the answer."""
        deltas: list[ChatDelta] = []
        _native.chat_reply_finish(self._handle, deltas.append)
        return deltas

    def message(self) -> dict[str, Any]:
        """The answer so far as a message of a conversation."""
        message: dict[str, Any] = json.loads(_native.chat_reply_message(self._handle))
        return message

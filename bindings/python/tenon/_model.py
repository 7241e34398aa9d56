"""Models, their contents, and their tokenizers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native, constants
from ._errors import ArgumentError
from ._library import library
from ._loops import in_thread
from ._native import (Execution, Handle, Hardware, Memory, ModelInfo, Plan, Tensor, TokenInfo)
from ._objects import Object, options_handle

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._chat import Chat
    from ._engine import Engine
    from ._hub import Hub, HubProgress
    from ._options import ChatOptions, ModelOptions, SessionOptions
    from ._session import Session

PathLike = Union[str, bytes, "os.PathLike[str]"]


def _flags(add_special: bool, parse_special: bool) -> int:
    return (constants.ADD_SPECIAL if add_special else 0) | \
        (constants.PARSE_SPECIAL if parse_special else 0)


class Tokenizer(Object):
    """Text to tokens and back. Any thread. From a tokenizer.json or a model file, or part of a
    model."""

    __slots__ = ()

    def __init__(self, path: PathLike) -> None:
        library()
        self._handle = _native.tokenizer_open(os.fsencode(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Tokenizer:
        """Reads the bytes of such a file."""
        library()
        return cls._of(_native.tokenizer_load((constants.SOURCE_MEMORY, data)))

    @classmethod
    def _of(cls, handle: Handle) -> Tokenizer:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> list[int]:
        """Tokens of a text. Control tokens are found in it only with parse_special."""
        return _native.tokenizer_encode(self._handle, text, _flags(add_special, parse_special))

    def decode_bytes(self, tokens: Sequence[int], *, special: bool = False) -> bytes:
        """Bytes of tokens, which may begin or end inside a character."""
        return _native.tokenizer_decode(self._handle, tokens,
                                        constants.RENDER_SPECIAL if special else 0)

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of tokens; invalid UTF-8 becomes U+FFFD. special: show control tokens."""
        return self.decode_bytes(tokens, special=special).decode("utf-8", "replace")

    def __len__(self) -> int:
        return _native.tokenizer_count(self._handle)

    def info(self, token: int) -> TokenInfo:
        """Attributes, spelling and bytes of a token."""
        return _native.tokenizer_token_info(self._handle, token)

    def find(self, spelling: str) -> Optional[int]:
        """The token with this spelling in the file."""
        token = _native.tokenizer_find(self._handle, spelling)
        return None if token == constants.NO_TOKEN else token

    def _special(self, role: int) -> Optional[int]:
        token = _native.tokenizer_special(self._handle, role)
        return None if token == constants.NO_TOKEN else token

    @property
    def begin_token(self) -> Optional[int]:
        """The begin token."""
        return self._special(constants.SPECIAL_BEGIN)

    @property
    def end_token(self) -> Optional[int]:
        """The end token."""
        return self._special(constants.SPECIAL_END)


class Metadata(Mapping[str, Any]):
    """Metadata of a model's file, in file order."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def __len__(self) -> int:
        return _native.model_metadata_count(self._handle)

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self)):
            yield _native.model_metadata(self._handle, index).key

    def __getitem__(self, key: str) -> Any:
        try:
            index = _native.model_find_metadata(self._handle, key)
        except ArgumentError:
            raise KeyError(key) from None
        entry = _native.model_metadata(self._handle, index)
        if entry.type != constants.VALUE_ARRAY:
            return self._value(index, 0)
        return [self._value(index, element) for element in range(entry.num_elements)]

    def _value(self, index: int, element: int) -> Any:
        value = _native.model_metadata_value(self._handle, index, element)
        if value.type == constants.VALUE_STRING:
            return value.text
        if value.type == constants.VALUE_BOOL:
            return value.integer != 0
        if value.type in (constants.VALUE_FLOAT32, constants.VALUE_FLOAT64):
            return value.number
        return value.integer & (2**64 - 1) if value.type == constants.VALUE_UINT64 else value.integer


class Model(Object):
    """A model. Any thread, any number of sessions; `close` may come before they end.

        model = tenon.Model("model.gguf", threads=4)

    progress(fraction) is called while it loads: a true result cancels with CancelledError, and its
    exception is raised here. log(level, line) gets lines of constants.LOG_* up to log_level, on any
    thread, until the process ends."""

    __slots__ = ("_engine", "_lock", "_kept")

    def __init__(self, path: Union[PathLike, Sequence[PathLike]], *,
                 progress: Optional[Callable[[float], Any]] = None,
                 log: Optional[Callable[[int, str], Any]] = None,
                 log_level: int = constants.LOG_INFO, **options: Unpack[ModelOptions]) -> None:
        if not isinstance(path, (str, bytes, os.PathLike, Iterable)):
            raise TypeError(f"a path, or several, are needed, not {type(path).__name__}")
        paths = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
        sources = tuple((constants.SOURCE_PATH, os.fsencode(one)) for one in paths)
        self._load(sources, options, progress, log, log_level)

    @classmethod
    async def load(cls, path: Union[PathLike, Sequence[PathLike]], *,
                   progress: Optional[Callable[[float], Any]] = None,
                   log: Optional[Callable[[int, str], Any]] = None,
                   log_level: int = constants.LOG_INFO, **options: Unpack[ModelOptions]) -> Model:
        """Loads a model, for event loops, which continue meanwhile. Cancelling the task cancels the
        load; progress and log are called on another thread."""
        is_cancelled = threading.Event()

        def watched(fraction: float) -> Any:
            return is_cancelled.is_set() or (progress(fraction) if progress is not None else None)

        return await in_thread(lambda: cls(path, progress=watched, log=log, log_level=log_level, **options),
                               is_cancelled.set)

    @classmethod
    def from_hub(cls, reference: str, *, hub: Optional[Hub] = None,
                 on_pull: Optional[Callable[[HubProgress], Any]] = None,
                 progress: Optional[Callable[[float], Any]] = None,
                 **options: Unpack[ModelOptions]) -> Model:
        """Loads a model by its name, "hf:owner/name:Q4_K_M"; fetches it first if it is not on this
        machine. hub: a tenon.Hub with options; without one the environment's are used. on_pull: as
        progress of Hub.pull."""
        from ._hub import path_of
        return cls(path_of(reference, hub, on_pull), progress=progress, **options)

    @classmethod
    def from_bytes(cls, data: bytes, *, progress: Optional[Callable[[float], Any]] = None,
                   **options: Unpack[ModelOptions]) -> Model:
        """Loads the bytes of a file, which are kept alive."""
        self = cls.__new__(cls)
        self._load(((constants.SOURCE_MEMORY, bytes(data)),), options, progress, None, 0)
        return self

    @classmethod
    def from_fd(cls, fd: int, offset: int = 0, size: int = 0, *,
                progress: Optional[Callable[[float], Any]] = None,
                **options: Unpack[ModelOptions]) -> Model:
        """Loads part of an open file; size 0: to its end. The descriptor may be closed afterwards.
        """
        self = cls.__new__(cls)
        self._load(((constants.SOURCE_FD, (fd, offset, size)),), options, progress, None, 0)
        return self

    def _load(self, sources: tuple[tuple[int, Any], ...], options: Mapping[str, Any],
              progress: Optional[Callable[[float], Any]], log: Optional[Callable[[int, str], Any]],
              log_level: int) -> None:
        self._engine: Optional[Engine] = None
        self._kept = sources  # the bytes must outlive all sessions
        self._lock = threading.Lock()
        self._handle = _native.model_load(sources, options_handle(options), progress, log, log_level)

    @property
    def info(self) -> ModelInfo:
        """Name, architecture, sizes."""
        return _native.model_get_info(self._handle)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer. It works after the model has been closed, which waits for it."""
        return Tokenizer._of(_native.model_tokenizer(self._handle))

    @property
    def metadata(self) -> Metadata:
        """Metadata of the file."""
        return Metadata(self._handle)

    def tensors(self) -> list[Tensor]:
        """Tensors of the file, in file order."""
        return [_native.model_tensor(self._handle, index)
                for index in range(_native.model_tensor_count(self._handle))]

    def memory(self, context: int = 0) -> Memory:
        """Memory of the model with one session; 0: the default context."""
        return _native.model_memory(self._handle, context)

    @property
    def execution(self) -> Execution:
        """How the model runs on this machine."""
        return _native.model_execution(self._handle)

    def measure(self, *, speed: bool = False) -> Hardware:
        """This machine, for planning. speed: runs some layers, for seconds."""
        return _native.measure_hardware(self._handle, constants.MEASURE_SPEED if speed else 0)

    def plan(self, hardware: Hardware, *, context: int = 0, sessions: int = 0) -> Plan:
        """Predicts memory and speed for that many sessions."""
        names = ("threads", "memory_bytes", "process_bytes", "decode_bytes_per_second",
                 "prefill_multiplications_per_second", "cache_bytes_per_second",
                 "attention_multiplications_per_second")
        return _native.model_plan(self._handle, context, sessions, dict(zip(names, hardware)))

    def engine(self) -> Engine:
        """The engine of sessions that name no other; made at first use."""
        from ._engine import Engine
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self)
            return self._engine

    def chat(self, **options: Unpack[ChatOptions]) -> Chat:
        """A chat with this model, by the template in its file."""
        from ._chat import Chat
        return Chat(self, **options)

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """A new session with an empty text."""
        from ._session import Session
        return Session(self, **options)

    def _view(self) -> Model:
        """A second object for this model, for its engine, so that the two do not keep each other
        alive, and the last reference frees the weights at once."""
        view = Model.__new__(Model)
        view._engine, view._lock, view._handle = None, threading.Lock(), self._handle
        view._kept = self._kept
        return view

    def close(self) -> None:
        engine = getattr(self, "_engine", None)
        if engine is not None:
            engine.close()
        super().close()

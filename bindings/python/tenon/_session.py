"""Sessions: texts in progress."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native, constants
from ._engine import Engine, Generation, GenerateOptions, Piece, piece_of
from ._errors import Error
from ._native import Candidate, Handle, SessionStats
from ._objects import Object, check_names, check_type, options_handle
from ._options import SamplerOptions
from ._sampler import Sampler
from ._views import floats, lend

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model, PathLike
    from ._options import SessionOptions


def sampler_of(options: Mapping[str, Any]) -> Optional[Sampler]:
    """Sampler options within those of a generation; None: none."""
    sampler: Optional[Sampler] = options.get("sampler")
    drawn = {name: options[name] for name in SamplerOptions.__annotations__ if options.get(name) is not None}
    drawn = {**options.get("sampling", {}), **drawn}
    if sampler is not None and drawn:
        raise TypeError(f"{next(iter(drawn))}: a sampler is given; make that with it")
    return Sampler(**drawn) if drawn else sampler


class Session(Object):
    """A text of tokens and what a model computed for it. One thread at a time (StateError), except
    `cancel` and `close`, from any.

        for piece in tenon.Session(model).generate("Once upon a time", max_tokens=20):
            print(piece, end="")
    """

    __slots__ = ("_model", "_engine")

    def __init__(self, model: Model, *, engine: Optional[Engine] = None,
                 **options: Unpack[SessionOptions]) -> None:
        from ._model import Model
        check_type(model, Model)
        self._model = model
        self._engine = engine if engine is not None else model.engine()
        self._handle = _native.engine_open_session(self._engine._handle, options_handle(options))

    @property
    def model(self) -> Model:
        """The model of the text."""
        return self._model

    def append(self, text: Union[str, Sequence[int]], *, add_special: Optional[bool] = None,
               parse_special: bool = False) -> None:
        """Appends text or tokens. add_special None: if the session is empty."""
        if isinstance(text, str):
            _native.session_append_text(self._handle, text, self._flags(add_special, parse_special))
        else:
            _native.session_append_tokens(self._handle, text)

    def set_source(self, text: Union[str, Sequence[int]], *, add_special: bool = True) -> None:
        """Encoder-decoders only (T5): sets the source text that the encoder reads."""
        if isinstance(text, str):
            flags = constants.ADD_SPECIAL if add_special else 0
            _native.session_set_source_text(self._handle, text, flags)
        else:
            _native.session_set_source_tokens(self._handle, text)

    def _flags(self, add_special: Optional[bool], parse_special: bool) -> int:
        if add_special is None:
            add_special = self.position == 0
        return (constants.ADD_SPECIAL if add_special else 0) | \
            (constants.PARSE_SPECIAL if parse_special else 0)

    def generate(self, text: Union[str, Sequence[int], None] = None,
                 **options: Unpack[GenerateOptions]) -> Generation:
        """Appends a text or tokens and continues it: iterate over the pieces with `for` or `async
        for`. Until it has ended or is closed, the session refuses other calls except cancel and
        close."""
        return self._generate(text, options)

    def _generate(self, text: Union[str, Sequence[int], None], options: Mapping[str, Any],
                  owns_session: bool = False) -> Generation:
        check_names("generate", options, GenerateOptions.__annotations__)
        if text is not None and not hasattr(text, "__len__"):
            raise TypeError(f"a text or tokens are needed, not {type(text).__name__}")
        flags = 0
        fields: dict[str, Any] = {"max_tokens": options.get("max_tokens", 0)}
        if isinstance(text, str):
            fields["text"] = text
            flags = self._flags(options.get("add_special"), options.get("parse_special", False))
        elif text is not None:
            fields["tokens"] = text
        sampler = sampler_of(options)
        if options.get("grammar") is not None:
            sampler = sampler or Sampler()
            sampler.set_grammar(options["grammar"], self._model.tokenizer)
        if sampler is not None:
            fields["sampler"] = sampler._handle
        num_top: Optional[int] = options.get("logprobs")
        if num_top is not None:
            flags |= constants.LOGPROBS
            fields["num_top"] = num_top
        if options.get("ignore_end"):
            flags |= constants.IGNORE_END
        if options.get("priority") is not None:
            fields.update(priority=options["priority"], has_priority=1)
        for name, field in (("timeout", "timeout_seconds"), ("client", "client"), ("weight", "weight")):
            if options.get(name) is not None:
                fields[field] = options[name]
        fields["flags"] = flags
        handle = _native.session_submit(self._handle, fields)
        return Generation(self, self._engine, handle, num_top, owns_session)

    def next(self, sampler: Optional[Sampler] = None) -> Piece:
        """Generates one token: a step of `generate`, for loops of your own."""
        return piece_of(_native.session_next(self._handle, None if sampler is None else sampler._handle))

    def best_of(self, count: int, *, sampler: Optional[Sampler] = None, max_tokens: int = 0
                ) -> tuple[list[Candidate], int]:
        """`count` continuations, and the index of the likeliest, with which the text continues."""
        candidates: list[Candidate] = []
        best = _native.session_best_of(self._handle, None if sampler is None else sampler._handle, count,
                                       max_tokens, candidates.append)
        return candidates, best

    def prefill(self, progress: Optional[Callable[[float], Any]] = None) -> None:
        """Computes queued tokens. progress(fraction): a true result cancels with CancelledError,
        its exception is raised here. Signals (Ctrl-C) are noticed meanwhile."""
        _native.session_prefill(self._handle, progress or (lambda fraction: None))

    def logits(self) -> "ctypes.Array[ctypes.c_float]":
        """Logits of the next token: [vocabulary] f32 in the library's memory; numpy.asarray copies
        nothing. The session refuses calls while they, or an array made from them, are alive."""
        self.prefill()
        return lend(_native.session_logits(self._handle), self._handle)

    def drawn_logits(self) -> "ctypes.Array[ctypes.c_float]":
        """Logits that the last token of `next` was drawn from, like `logits`."""
        return lend(_native.session_drawn_logits(self._handle), self._handle)

    def evaluate(self, tokens: Sequence[int],
                 on_logits: Callable[[int, "memoryview[float]"], Any]) -> None:
        """Appends tokens and calls on_logits(row, logits) after each: [vocabulary] f32, a copy. A
        true result cancels with CancelledError."""
        _native.session_evaluate(self._handle, tokens,
                                 lambda row, logits: on_logits(row, floats(logits)))

    def score(self, continuations: "Union[Sequence[str], Sequence[Sequence[int]]]", *,
              parse_special: bool = False, timeout: float = 0) -> list[list[float]]:
        """Scores continuations, texts or lists of tokens: for each the log-probabilities of its
        tokens, whose sum is that of the whole. The text does not change."""
        items: Any = [item if isinstance(item, str) else list(item) for item in continuations]
        flags = constants.PARSE_SPECIAL if parse_special else 0
        logprobs, counts = _native.session_score(self._handle, items, flags, timeout)
        ends = [sum(counts[:index + 1]) for index in range(len(counts))]
        return [logprobs[end - count:end] for end, count in zip(ends, counts)]

    def fork(self) -> Session:
        """A second session with this text, sharing what was computed."""
        return self._of(_native.session_fork(self._handle))

    def _of(self, handle: Handle) -> Session:
        other = Session.__new__(Session)
        other._model, other._engine, other._handle = self._model, self._engine, handle
        return other

    def rewind(self, position: int) -> None:
        """Forgets everything from `position` on."""
        _native.session_rewind(self._handle, position)

    def save(self, path: Optional[PathLike] = None) -> bytes:
        """Saves text and cache to a file; without a path returns the bytes."""
        if path is None:
            return _native.session_save_buffer(self._handle)
        _native.session_save(self._handle, os.fsencode(path))
        return b""

    def restore(self, saved: Union[PathLike, bytes], *, text_only: bool = False) -> None:
        """Replaces the text by a saved session: bytes, or a path as str or PathLike. text_only:
        recompute it if the cache differs."""
        flags = constants.RESTORE_TEXT if text_only else 0
        if isinstance(saved, bytes):
            _native.session_restore_buffer(self._handle, saved, flags)
        else:
            _native.session_restore(self._handle, os.fsencode(saved), flags)

    @property
    def position(self) -> int:
        """Number of tokens in the text."""
        return _native.session_position(self._handle)

    @property
    def context(self) -> int:
        """Most tokens of the text."""
        return _native.session_context(self._handle)

    @property
    def tokens(self) -> list[int]:
        """Tokens of the text."""
        return _native.session_tokens(self._handle)

    @property
    def seed(self) -> int:
        """Seed of the latest answer; as the option `seed` it gives that answer again."""
        return _native.session_seed(self._handle)

    def take_held(self) -> str:
        """Hands out text held back because it may begin a stop text."""
        return _native.session_take_held(self._handle)

    def cancel(self) -> None:
        """Ends the running call, or the next one, with CancelledError. Any thread."""
        _native.session_cancel(self._handle)

    @property
    def stats(self) -> SessionStats:
        """Tokens and seconds so far."""
        return _native.session_get_stats(self._handle)

    def close(self) -> None:
        handle: Optional[Handle] = getattr(self, "_handle", None)
        if handle is not None and handle.is_live:
            with contextlib.suppress(Error):  # in a forked child
                _native.session_cancel(handle)
        super().close()

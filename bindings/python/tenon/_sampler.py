"""Samplers, log-probabilities and grammars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native, constants
from ._library import library
from ._native import Handle
from ._objects import Object, options_handle
from ._views import place_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Tokenizer
    from ._options import SamplerOptions


Schema = Union[str, dict[str, Any], bool, type, object]


def schema_of(given: Schema) -> Union[str, dict[str, Any], bool]:
    """A JSON Schema; for a class of pydantic, or a TypeAdapter, its own."""
    if isinstance(given, (str, dict, bool)):
        return given
    # pydantic 2, its TypeAdapter, pydantic 1.
    for name in ("model_json_schema", "json_schema", "schema"):
        make = getattr(given, name, None)
        if callable(make):
            made: dict[str, Any] = make()
            return made
    raise TypeError(f"a JSON Schema is a text, a dict, or a class of pydantic, not {given!r}")


class Grammar(Object):
    """A compiled grammar. Any thread."""

    __slots__ = ()

    def __init__(self, kind: int, text: str) -> None:
        library()
        self._handle = _native.grammar_create(kind, text)

    @classmethod
    def _of(cls, handle: Handle) -> Grammar:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    @classmethod
    def json_schema(cls, schema: Schema) -> Grammar:
        """Allows documents that are valid by a JSON Schema: a text, Python's values, or a class of
        pydantic."""
        schema = schema_of(schema)
        return cls(constants.GRAMMAR_JSON_SCHEMA,
                   schema if isinstance(schema, str) else json.dumps(schema))

    @classmethod
    def gbnf(cls, rules: str) -> Grammar:
        """Allows texts of the rule `root`, in GBNF."""
        return cls(constants.GRAMMAR_GBNF, rules)

    @classmethod
    def lark(cls, rules: str) -> Grammar:
        """Texts of the rule `start`, in Lark."""
        return cls(constants.GRAMMAR_LARK, rules)

    @classmethod
    def regex(cls, pattern: str) -> Grammar:
        """Allows texts that a regular expression matches as a whole."""
        return cls(constants.GRAMMAR_REGEX, pattern)

    @classmethod
    def choices(cls, texts: Sequence[str]) -> Grammar:
        """Allows one of several texts."""
        return cls(constants.GRAMMAR_CHOICES, json.dumps(list(texts)))

    def accepts(self, text: str) -> bool:
        """True if it is a complete text of the grammar."""
        return _native.grammar_accepts(self._handle, text) != 0

    def matcher(self, tokenizer: Tokenizer) -> Matcher:
        """A matcher, for loops that draw by themselves."""
        return Matcher._of(_native.matcher_create(self._handle, tokenizer._handle))


class Matcher(Object):
    """A position in a text of a grammar. One thread at a time."""

    __slots__ = ()

    @classmethod
    def _of(cls, handle: Handle) -> Matcher:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def fork(self) -> Matcher:
        """A second matcher at the same position."""
        return self._of(_native.matcher_fork(self._handle))

    def allows(self, token: int) -> bool:
        """True if the token may come next."""
        return _native.matcher_allows(self._handle, token) != 0

    def mask(self) -> bytes:
        """Mask of all tokens that may come next: token t is bit t % 64 of the 64-bit word t // 64.
        """
        return _native.matcher_mask(self._handle)

    def accept(self, token: int) -> None:
        """Accepts the next token; StateError if it cannot follow."""
        _native.matcher_accept_token(self._handle, token)

    def accept_text(self, text: str) -> bool:
        """Accepts text; returns False if the grammar does not allow it."""
        return _native.matcher_accept_text(self._handle, text) != 0

    def roll_back(self, tokens: int) -> None:
        """Takes back the last tokens."""
        _native.matcher_roll_back(self._handle, tokens)

    def reset(self) -> None:
        """Returns to the beginning."""
        _native.matcher_reset(self._handle)

    @property
    def complete(self) -> bool:
        """True if the text so far is a text of the grammar."""
        return _native.matcher_state(self._handle)[0] != 0

    @property
    def ended(self) -> bool:
        """True if only an end token can follow."""
        return _native.matcher_state(self._handle)[1] != 0

    @property
    def forced_text(self) -> str:
        """The text that must come next; often empty."""
        return _native.matcher_forced_text(self._handle)


class Sampler(Object):
    """Draws tokens from logits. One thread at a time; a generation copies it when it begins.

        tenon.Sampler(temperature=0)
    """

    __slots__ = ()

    def __init__(self, **options: Unpack[SamplerOptions]) -> None:
        self._handle = _native.sampler_create(options_handle(options))

    def set(self, name: str, value: Union[int, float]) -> None:
        """Changes one parameter."""
        if isinstance(value, int):
            _native.sampler_set_int(self._handle, name, value)
        else:
            _native.sampler_set_float(self._handle, name, value)

    def set_bias(self, token: int, bias: float) -> None:
        """Adds to a token's logit; -math.inf forbids the token."""
        _native.sampler_set_bias(self._handle, token, bias)

    def add_stop_token(self, token: int) -> None:
        """Ends generation at this token."""
        _native.sampler_add_stop_token(self._handle, token)

    def set_grammar(self, grammar: Optional[Grammar], tokenizer: Optional[Tokenizer] = None) -> None:
        """Allows only texts of the grammar from now on; None: any text."""
        _native.sampler_set_grammar(self._handle, None if grammar is None else grammar._handle,
                                    None if tokenizer is None else tokenizer._handle)

    def set_token_limit(self, tokens: int) -> None:
        """Sets how many tokens may still be drawn."""
        _native.sampler_set_token_limit(self._handle, tokens)

    @property
    def seed(self) -> int:
        """Seed of the draws: its option, or for -1 the seed of the latest answer."""
        return _native.sampler_seed(self._handle)

    def reset(self) -> None:
        """Restores the sampler to its creation."""
        _native.sampler_reset(self._handle)

    def roll_back(self, draws: int) -> None:
        """Takes back the last draws."""
        _native.sampler_roll_back(self._handle, draws)

    def sample(self, logits: Any, history: Sequence[int] = (), position: Optional[int] = None) -> int:
        """Draws from [vocabulary] f32. position: key of the random number; None: len(history)."""
        return _native.sampler_sample(self._handle, place_of(logits), history,
                                      len(history) if position is None else position)


def logprobs(logits: Any, tokens: Sequence[int] = (), top: int = 0
             ) -> tuple[list[float], list[tuple[int, float]]]:
    """Log-probabilities under logits [vocabulary] f32: those of tokens, and the `top` likeliest."""
    library()
    of_tokens, top_tokens, top_values = _native.logprobs(place_of(logits), tokens, top)
    return of_tokens, list(zip(top_tokens, top_values))

"""Tenon: run language models inside your program.

    import tenon
    model = tenon.Model("demo-q8_0.gguf")
    for piece in tenon.Session(model).generate("Once upon a time", max_tokens=20):
        print(piece, end="")
"""

from . import constants
from ._chat import AnswerOptions, Chat, ChatAnswer, ChatPart, Reply
from ._embedder import Embedder, Rows
from ._engine import Engine, GenerateOptions, Generation, Piece, gather_texts
from ._errors import (ArgumentError, BusyError, CancelledError, DeadlineError, Error, FormatError,
                      GrammarError, InputOutputError, InternalError, LimitError, NoMemoryError,
                      PluginError, StateError, TemplateError, UnsupportedError)
from ._hub import Hub, HubModel, HubProgress
from ._library import library, library_path, use_library
from ._model import Metadata, Model, Tokenizer
from ._native import (Candidate, ChatDelta, EmbedderInfo, EngineStats, Execution, Hardware, Memory, ModelInfo,
                      PlacedDevice, Plan, RequestStats, SessionStats, Tensor, TokenInfo)
from ._sampler import Grammar, Matcher, Sampler, logprobs
from ._server import Answer, Server
from ._session import Session

__all__ = [
    "Answer", "AnswerOptions", "ArgumentError", "BusyError", "CancelledError", "Candidate", "Chat", "ChatAnswer",
    "ChatDelta", "ChatPart", "DeadlineError",
    "Embedder", "EmbedderInfo", "Engine", "EngineStats", "Error", "Execution", "FormatError",
    "GenerateOptions", "Generation", "Grammar", "GrammarError", "Hardware", "Hub", "HubModel", "HubProgress", "InputOutputError",
    "InternalError", "LimitError", "Matcher", "Memory", "Metadata", "Model", "ModelInfo", "NoMemoryError",
    "Piece", "PlacedDevice", "Plan", "PluginError", "Reply", "RequestStats", "Rows", "Sampler", "Server", "Session",
    "SessionStats", "StateError", "TemplateError", "Tensor", "TokenInfo", "Tokenizer", "UnsupportedError",
    "constants", "gather_texts", "library_path", "logprobs", "use_library", "version",
]


def _make_callable() -> None:
    """Makes property values callable: `engine.stats` is also `engine.stats()`."""
    from . import _native
    for kind in vars(_native).values():
        if isinstance(kind, type) and hasattr(kind, "n_sequence_fields"):
            setattr(kind, "__call__", lambda self: self)


_make_callable()


def version() -> str:
    """Version of the library."""
    from . import _native
    library()
    return _native.version_text()

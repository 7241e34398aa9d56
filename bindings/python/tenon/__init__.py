"""Tenon: run language models inside your program.

    import tenon
    model = tenon.Model("demo-q8_0.gguf")
    for piece in tenon.Session(model).generate("Once upon a time", max_tokens=20):
        print(piece, end="")
"""

from . import constants
from ._chat import Chat, Reply
from ._embedder import Embedder, Rows
from ._engine import Engine, GenerateOptions, Generation, Piece, gather_texts
from ._errors import (ArgumentError, BusyError, CancelledError, DeadlineError, Error, FormatError,
                      GrammarError, InputOutputError, InternalError, LimitError, NoMemoryError,
                      PluginError, StateError, TemplateError, UnsupportedError)
from ._library import library, library_path, use_library
from ._model import Metadata, Model, Tokenizer
from ._sampler import Grammar, Matcher, Sampler, logprobs
from ._session import Session

__all__ = [
    "ArgumentError", "BusyError", "CancelledError", "Chat", "DeadlineError", "Embedder", "Engine",
    "Error", "FormatError", "GenerateOptions", "Generation", "Grammar", "GrammarError",
    "InputOutputError", "InternalError", "LimitError", "Matcher", "Metadata", "Model", "NoMemoryError",
    "Piece", "PluginError", "Reply", "Rows", "Sampler", "Session", "StateError", "TemplateError",
    "Tokenizer", "UnsupportedError", "constants", "gather_texts", "library_path", "logprobs",
    "use_library", "version",
]


def version() -> str:
    """Of the library."""
    from . import _native
    library()
    return _native.version_text()

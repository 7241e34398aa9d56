"""Embedders: rows of numbers for texts, and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native, constants
from ._loops import in_thread
from ._native import EmbedderInfo
from ._objects import Object, check_type, options_handle
from ._views import floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._model import Model
    from ._options import EmbedderOptions

_ROLES = {"plain": constants.TEXT_PLAIN, "query": constants.TEXT_QUERY,
          "document": constants.TEXT_DOCUMENT}
Texts = Union[Sequence[str], Sequence[Sequence[int]]]


def _items(texts: Texts) -> Union[list[str], list[list[int]]]:
    if isinstance(texts, str):
        raise TypeError("texts are a list; one text is [text]")
    if all(isinstance(text, str) for text in texts):
        return [str(text) for text in texts]
    return [[int(token) for token in text] for text in texts]


class Rows:
    """Rows of f32, one after another: numpy.asarray(rows) is [rows, dimensions], without a copy."""

    __slots__ = ("_memory", "_view", "counts")

    def __init__(self, memory: bytearray, dimensions: int, counts: list[int]) -> None:
        self._memory = memory
        rows = len(memory) // (4 * dimensions) if dimensions else 0
        whole = memoryview(memory)
        self._view: "memoryview[Any]" = whole.cast("f", (rows, dimensions)) if rows else whole
        self.counts = counts
        """Rows per text, [texts]; 1 unless the pooling is none."""

    @property
    def view(self) -> "memoryview[Any]":
        """The values, [rows, dimensions] f32."""
        return self._view

    def __len__(self) -> int:
        return self._view.shape[0] if self._view.ndim == 2 and self._view.shape else 0

    def __getitem__(self, index: int) -> "memoryview[float]":
        size = len(self._memory) // max(len(self), 1) // 4
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        start = index % len(self) * size
        return floats(self._memory)[start:start + size]

    @property
    def __array_interface__(self) -> dict[str, object]:
        shape = (len(self), len(self._memory) // 4 // max(len(self), 1))
        return {"shape": shape, "typestr": "<f4", "version": 3, "data": self._memory}


class Embedder(Object):
    """Turns texts into rows of numbers. Any thread."""

    __slots__ = ()

    def __init__(self, model: Model, **options: Unpack[EmbedderOptions]) -> None:
        from ._model import Model
        check_type(model, Model)
        self._handle = _native.embedder_create(model._handle, options_handle(options))

    @property
    def info(self) -> EmbedderInfo:
        """Pooling, dimensions, limits."""
        return _native.embedder_get_info(self._handle)

    @property
    def dimensions(self) -> int:
        """Numbers per row."""
        return _native.embedder_dimensions(self._handle)

    @property
    def labels(self) -> list[str]:
        """Names of the classifier's labels."""
        return [_native.embedder_label(self._handle, index) for index in range(self.info.num_labels)]

    def embed(self, texts: Texts, *, role: str = "plain", timeout: float = 0) -> Rows:
        """Rows of texts, or of lists of tokens. role: "plain", "query" or "document"."""
        memory, counts = _native.embedder_embed(self._handle, _items(texts), _ROLES[role], timeout)
        return Rows(memory, self.dimensions, counts)

    async def aembed(self, texts: Texts, *, role: str = "plain", timeout: float = 0) -> Rows:
        """As `embed`, for event loops, which continue meanwhile. Cancelling the task ends the
        embedder's running calls."""
        return await in_thread(lambda: self.embed(texts, role=role, timeout=timeout), self.cancel)

    async def arank(self, query: str, documents: Texts, *, timeout: float = 0) -> list[float]:
        """As `rank`, for event loops."""
        return await in_thread(lambda: self.rank(query, documents, timeout=timeout), self.cancel)

    def rank(self, query: str, documents: Texts, *, timeout: float = 0) -> list[float]:
        """Scores how well each document answers the query; more is better."""
        return _native.embedder_rank(self._handle, query, _items(documents), timeout)

    def cancel(self) -> None:
        """Ends running calls with CancelledError. Any thread."""
        _native.embedder_cancel(self._handle)

"""A stage of Ray Data: rows with a prompt become rows with a text, as many at once as the engine
runs."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .._engine import Engine
from .._errors import Error, InternalError
from .._model import Model
from ._requests import Generator, Prompt, check_options

# Rows that the engine has at once: some more than it runs, which is 64 unless its option says
# otherwise, and fewer than its queue takes.
_AT_ONCE = 256


class Answer(NamedTuple):
    """Result of a row."""

    text: str
    finish: Optional[str]
    """Why it ended; None after an error."""
    error: Optional[str]
    """The row's error: a prompt that is too long, a conversation that its template refuses."""


class Stage:
    """A callable class for Dataset.map_batches: an engine in each of its actors.

        rows.map_batches(Stage, fn_constructor_args=[path],
                         fn_constructor_kwargs={"options": {"max_tokens": 64}},
                         compute=ray.data.ActorPoolStrategy(size=2), batch_size=64)

    column: holds the prompt (a text, or messages). Rows gain `text`, `finish`, why it ended, and
    `error`, the row's error if any; other rows are answered all the same. The number in `seed`, or
    else a number made of the prompt, seeds the draws, so a recomputed batch gives the same."""

    def __init__(self, path: str, *, column: str = "prompt", options: Optional[Mapping[str, Any]] = None,
                 model: Optional[Mapping[str, Any]] = None, engine: Optional[Mapping[str, Any]] = None) -> None:
        self._column = column
        self._options = dict(options or {})
        check_options(self._options)
        self._generator = Generator(Engine(Model(path, **(model or {})), **(engine or {})))

    def __call__(self, batch: "dict[str, Any]") -> "dict[str, Any]":
        """Adds the columns to a batch of columns."""
        prompts = [_prompt_of(value) for value in batch[self._column]]
        seeds = [int(seed) for seed in batch["seed"]] if "seed" in batch else [_seed_of(one) for one in prompts]
        answers = self.answer(prompts, seeds)
        return {**batch, **{name: [getattr(answer, name) for answer in answers] for name in Answer._fields}}

    def answer(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> "list[Answer]":
        """Answers, computed in one batch."""
        return asyncio.run(self._answer(prompts, seeds))

    async def _answer(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> "list[Answer]":
        room = asyncio.Semaphore(_AT_ONCE)

        async def answer(prompt: Prompt, seed: int) -> Answer:
            async with room:
                return await self._one(prompt, seed)
        return list(await asyncio.gather(*map(answer, prompts, seeds)))

    async def _one(self, prompt: Prompt, seed: int) -> Answer:
        sampling = {"seed": seed, **(self._options.get("sampling") or {})}
        text, finish = "", None
        try:
            async with self._generator.generate(prompt, {**self._options, "sampling": sampling}) as generation:
                async for piece in generation:
                    text, finish = text + piece, piece.finish
        except InternalError:
            raise
        except Error as error:
            return Answer(text, None, f"{error.code}: {error}")
        return Answer(text, finish, None)


def _prompt_of(value: Any) -> Prompt:
    """A column's value in Python's form: lists come as arrays."""
    prompt: Prompt = value if isinstance(value, str) else list(value)
    return prompt


def _seed_of(prompt: Prompt) -> int:
    return zlib.crc32(repr(prompt).encode("utf-8", "surrogatepass")) >> 1

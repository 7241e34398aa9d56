"""Batches of files: JSON lines with a prompt each become JSON lines with a text each. A restarted
job resumes."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import ray
import ray.data
from ray._raylet import IMPLICIT_RESOURCE_PREFIX

from ._requests import Prompt
from ._stage import Stage

PathLike = Union[str, "os.PathLike[str]"]
_JOB = "job.json"


class Shard(NamedTuple):
    """Lines of a file that are computed together. A shard is done when its output exists."""

    source: str
    first: int
    """Index of its first line in the file."""
    lines: int
    output: str

    def is_done(self) -> bool:
        """True if its output exists."""
        return os.path.exists(self.output)


def shards_of(sources: Sequence[str], folder: str, rows: int) -> Iterator[Shard]:
    """All shards, in the order of files and lines: NAME-00000.jsonl has the first `rows` lines of
    NAME.jsonl."""
    names = [Path(source).stem for source in sources]
    if len(set(names)) != len(names):
        raise ValueError("two of the files have one name, which their output is named after")
    for source, name in zip(sources, names):
        with open(source, "rb") as file:
            count = sum(1 for _ in file)
        for number, first in enumerate(range(0, count, rows)):
            yield Shard(source, first, min(rows, count - first), os.path.join(folder, f"{name}-{number:05}.jsonl"))


def write_shard(shard: Shard, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes the whole output or none: a killed writer leaves a file with another name."""
    begun = f"{shard.output}.{uuid.uuid4().hex}.part"
    try:
        with open(begun, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
        os.replace(begun, shard.output)
    finally:
        if os.path.exists(begun):
            os.unlink(begun)


class _ShardStage:
    """Computes one shard per batch. The line's index is the seed, so a recomputed shard is the
    same."""

    def __init__(self, path: str, column: str, options: Mapping[str, Any], model: Mapping[str, Any],
                 engine: Mapping[str, Any]) -> None:
        self._column = column
        self._stage = Stage(path, column=column, options=options, model=model, engine=engine)

    def __call__(self, batch: "dict[str, Any]") -> "dict[str, Any]":
        for values in zip(batch["source"], batch["first"], batch["lines"], batch["output"]):
            shard = Shard(str(values[0]), int(values[1]), int(values[2]), str(values[3]))
            if not shard.is_done():  # written by an actor that was killed afterwards
                self._compute(shard)
        return {"output": batch["output"]}

    def _compute(self, shard: Shard) -> None:
        rows = [json.loads(line) for line in lines_of(shard)]
        prompts = [_prompt_of(row, self._column, shard, number) for number, row in enumerate(rows)]
        answers = self._stage.answer(prompts, range(shard.first, shard.first + shard.lines))
        write_shard(shard, ({**row, **answer._asdict()} for row, answer in zip(rows, answers)))


def lines_of(shard: Shard) -> "list[str]":
    """Shards of this file."""
    with open(shard.source, encoding="utf-8") as file:
        return list(islice(file, shard.first, shard.first + shard.lines))


def _prompt_of(row: Any, column: str, shard: Shard, number: int) -> Prompt:
    if not isinstance(row, dict) or column not in row:
        raise ValueError(f"line {shard.first + number + 1} of {shard.source} is no object with {column}")
    prompt: Prompt = row[column]
    return prompt


def _check_job(folder: str, job: Mapping[str, Any]) -> None:
    """Records the folder's job. Raises ValueError if it holds another job."""
    path = os.path.join(folder, _JOB)
    wanted = json.loads(json.dumps(job))
    if not os.path.exists(path):
        begun = f"{path}.{uuid.uuid4().hex}.part"
        with open(begun, "w", encoding="utf-8") as file:
            json.dump(job, file, indent=1)
        os.replace(begun, path)
        return
    with open(path, encoding="utf-8") as file:
        known = json.load(file)
    for key in wanted:
        if known.get(key) != wanted[key]:
            raise ValueError(f"{folder} holds another job: its {key} is {known.get(key)}, not {wanted[key]}")


def _wait_for_nodes(nodes: Optional[int], most: int, cpus: float, timeout: float) -> int:
    """Waits until that many nodes have the CPUs, and returns their number, at most `most`. None:
    the nodes that are there now, at least one."""
    wanted, end = min(nodes or 1, most), time.monotonic() + timeout
    while True:
        there = sum(node["Alive"] and node["Resources"].get("CPU", 0) >= cpus for node in ray.nodes())
        if there >= wanted:
            return min(nodes or there, most)
        if time.monotonic() >= end:
            raise RuntimeError(f"no {wanted} nodes with {cpus} CPUs were there within {timeout} s, but {there}")
        time.sleep(0.1)


def _one_of_a_node() -> "dict[str, float]":
    """A resource of which each node has one without configuration; Serve also uses it for
    max_replicas_per_node. Every call makes another."""
    return {f"{IMPLICIT_RESOURCE_PREFIX}tenon:{uuid.uuid4().hex}": 1}


def generate_files(path: str, sources: Sequence[PathLike], folder: PathLike, *, column: str = "prompt",
                   rows: int = 256, nodes: Optional[int] = None, cpus: float = 1, timeout: float = 600,
                   model: Optional[Mapping[str, Any]] = None, engine: Optional[Mapping[str, Any]] = None,
                   **options: Any) -> "list[str]":
    """Answers each line of files (JSON objects with a prompt in `column`); returns the files of the
    answers, in order.

    path, sources and folder are the same files on each node. A shard of `rows` lines is one file of
    the folder, which exists whole or not at all. So a killed job, called again, computes what is
    missing, and the shards of a node that died are recomputed, to the same bits. Each of `nodes`
    nodes (None: all that have `cpus` CPUs) has one engine. model, engine: options of tenon.Model
    and tenon.Engine; options: of Engine.stream.

    Raises ValueError if the folder holds another job, RuntimeError if the nodes are not there
    within `timeout` seconds. The job waits for a node that dies; to continue without it, end the
    job and call it again."""
    given = [os.path.abspath(source) for source in sources]
    into = os.path.abspath(folder)
    os.makedirs(into, exist_ok=True)
    _check_job(into, {"sources": given, "bytes": [os.path.getsize(one) for one in given], "column": column,
                      "rows": rows, "model": os.path.abspath(path), "options": options})
    shards = list(shards_of(given, into, rows))
    missing = [shard._asdict() for shard in shards if not shard.is_done()]
    if missing:
        engines = _wait_for_nodes(nodes, len(missing), cpus, timeout)
        ray.data.from_items(missing, override_num_blocks=len(missing)).map_batches(
            _ShardStage, batch_size=1, num_cpus=cpus, resources=_one_of_a_node(),
            # A shard takes long: tasks queued at an engine wait for that engine's node if it dies.
            compute=ray.data.ActorPoolStrategy(size=engines, max_tasks_in_flight_per_actor=1),
            fn_constructor_args=[os.path.abspath(path), column, options, dict(model or {}), dict(engine or {})],
        ).materialize()
    return [shard.output for shard in shards]

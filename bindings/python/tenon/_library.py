"""Finds libtenon, and refuses one that does not fit.

The order: the path given to use_library before the first object is made; the library inside the package;
what the system's loader finds as libtenon.so.0.1. The environment is not asked.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Optional, Union

from . import _native
from ._errors import BY_STATUS, UnsupportedError
from ._fit import misfits

HERE = Path(__file__).resolve().parent
_lock = threading.Lock()
_used: Optional[str] = None
_wanted: Optional[str] = None


def use_library(path: Union[str, "os.PathLike[str]"]) -> None:
    """Names the libtenon.so to use. Before anything else is called; RuntimeError afterwards."""
    global _wanted
    with _lock:
        if _used is not None and _used != os.fspath(path):
            raise RuntimeError(f"{_used} is in use already")
        _wanted = os.fspath(path)


def library_path() -> str:
    """The library in use."""
    return library()


def bundled_library() -> Path:
    """Where the package has its own, whether or not it is there."""
    return HERE / "lib" / f"libtenon.so.{'.'.join(made_for()['version'].split('.')[:2])}"


def made_for() -> dict[str, Any]:
    """What this binding was compiled for."""
    with open(HERE / "_made_for.json", encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def check_library(path: str) -> None:
    """Raises UnsupportedError with a sentence when the library at `path` does not fit."""
    description, version = _native.open_library(path)
    if description is None:
        raise UnsupportedError(f"{path} is libtenon {version}, which does not describe its interface: "
                               "it is too old for this binding")
    ours = made_for()
    reasons = misfits(ours, json.loads(description))
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise UnsupportedError(f"{path} is libtenon {version}, which does not fit this binding made "
                               f"for {ours['version']}: {reasons[0]}{more}")


def library() -> str:
    """Loads the library at the first call; afterwards costs nothing."""
    global _used
    if _used is not None:
        return _used
    with _lock:
        if _used is None:
            bundled = bundled_library()
            path = _wanted or (str(bundled) if bundled.exists() else bundled.name)
            try:
                check_library(path)
            except OSError as error:
                raise UnsupportedError(f"no libtenon was found: {error}") from error
            _native.use_library(path, BY_STATUS)
            _used = path
        return _used

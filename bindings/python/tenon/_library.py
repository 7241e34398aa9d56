"""Finds libtenon and libtenon-server, and refuses libraries that do not fit.

The order: the path given to use_library before the first object is made; the library inside the
package; the one that the system's loader finds as libtenon.so.0.1. The environment is not read.
libtenon-server is searched when the first server is made: beside the libtenon in use, then by the
system's loader."""

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
_used_server: Optional[str] = None
_wanted: Optional[str] = None


def use_library(path: Union[str, "os.PathLike[str]"]) -> None:
    """Names the libtenon.so to use. Call it before anything else; RuntimeError afterwards."""
    global _wanted
    with _lock:
        if _used is not None and _used != os.fspath(path):
            raise RuntimeError(f"{_used} is in use already")
        _wanted = os.fspath(path)


def library_path() -> str:
    """The library in use."""
    return library()


def bundled_library() -> Path:
    """Path of the package's own library, whether or not it exists."""
    return HERE / "lib" / f"libtenon.so.{'.'.join(made_for()['version'].split('.')[:2])}"


def made_for(file_name: str = "_made_for.json") -> dict[str, Any]:
    """The interface that this binding was compiled for; _server_made_for.json: that of
    libtenon-server."""
    with open(HERE / file_name, encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


def _check(path: str, kind: str, function: str, ours: dict[str, Any]) -> bool:
    """True if it is the libtenon in use, or works with that."""
    description, version, is_ours = _native.open_library(path, function)
    if description is None:
        raise UnsupportedError(f"{path} is {kind} {version}, which does not describe its interface: "
                               "it is too old for this binding")
    theirs = json.loads(description)
    reasons = misfits(ours, theirs)
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise UnsupportedError(f"{path} is {kind} {theirs['version'] if version == '?' else version}, which does not "
                               f"fit this binding made for {ours['version']}: {reasons[0]}{more}")
    return is_ours


def check_library(path: str) -> None:
    """Raises UnsupportedError with a sentence if the library at `path` does not fit."""
    _check(path, "libtenon", "tenon_interface_description", made_for())


def check_server_library(path: str) -> None:
    """As check, for libtenon-server, which must not bring another libtenon than the one in use."""
    used = library()
    if not _check(path, "libtenon-server", "tenon_server_interface_description", made_for("_server_made_for.json")):
        raise UnsupportedError(f"{path} works with another libtenon than {used}, which is in use")


def library() -> str:
    """Loads the library at the first call; later calls cost nothing."""
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


def _server_library_path() -> str:
    """libtenon-server beside the libtenon in use, else the name by which the system's loader finds
    it."""
    beside = Path(library())
    name = bundled_library().name.replace("libtenon.", "libtenon-server.", 1)
    for candidate in (beside.name.replace("libtenon.", "libtenon-server.", 1), name):
        if beside.parent != Path(".") and beside.with_name(candidate).exists():
            return str(beside.with_name(candidate))
    return name


def server_library() -> str:
    """Loads libtenon-server at the first call; later calls cost nothing."""
    global _used_server
    if _used_server is not None:
        return _used_server
    path = _server_library_path()
    with _lock:
        if _used_server is None:
            try:
                check_server_library(path)
                _native.use_server_library(path)
            except OSError as error:
                raise UnsupportedError(f"no libtenon-server was found beside {_used}: {error}") from error
            _used_server = path
        return _used_server

"""Base of all objects: a handle of the library, closing, and options."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Optional, TypeVar

from . import _native
from ._errors import Error
from ._library import library
from ._native import Handle

Self = TypeVar("Self", bound="Object")


class Object:
    """An object of the library. `close` frees it at once, in any order and from any thread; so does
    the end of a `with` block, and the last reference. Later calls raise StateError."""

    __slots__ = ("_handle", "__weakref__")
    _handle: Handle

    def close(self) -> None:
        """Frees the object, or has it freed when running calls return."""
        handle: Optional[Handle] = getattr(self, "_handle", None)
        if handle is not None:
            handle.destroy()

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return not self._handle.is_live

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a tenon.{type(self).__name__} cannot be pickled or copied: "
                        "it is an object of this process")


def check_type(given: object, wanted: type[Object]) -> None:
    """Raises TypeError if the object is of another kind."""
    if not isinstance(given, wanted):
        raise TypeError(f"a tenon.{wanted.__name__} is needed, not {type(given).__name__}")


def check_names(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for the first keyword that a call does not know, and names the nearest."""
    names = list(known)
    for name in sorted(set(given).difference(names)):
        raise TypeError(f"{call} has no option {name}{_hint(name, names)}")


def _hint(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, 1, 0.75)
    if near:
        return f"; the nearest name is {near[0]}"
    try:  # the library knows other libraries' names for things
        library()
        _native.options_set_int(_native.options_create(), name, 1)
    except Error as error:
        said = str(error).partition("; ")[2]
        meant = re.findall('"([a-z_]+)"', said)
        return f"; {said}" if meant and meant[0] in names else ""
    return ""


def options_handle(given: Mapping[str, Any]) -> Optional[Handle]:
    """A set of options; None for the defaults."""
    library()
    if not given:
        return None
    options = _native.options_create()
    for key, value in given.items():
        if isinstance(value, bool):
            _native.options_set_bool(options, key, value)
        elif isinstance(value, int):
            _native.options_set_int(options, key, value)
        elif isinstance(value, float):
            _native.options_set_float(options, key, value)
        elif isinstance(value, (str, bytes)):
            _native.options_set_string(options, key, value)
        elif isinstance(value, Sequence):
            for item in value:
                _native.options_add_string(options, key, item)
        else:
            raise TypeError(f"option {key}: a {type(value).__name__} is no value of an option")
    return options

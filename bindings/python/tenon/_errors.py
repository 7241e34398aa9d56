"""The exceptions: one per status of tenon.h, all of them tenon.Error."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Union


class Error(Exception):
    """An error of the library. `code` is its name in tenon.h: "FORMAT", "BUSY", ..."""

    code = "ERROR"


class FormatError(Error, ValueError):
    """A file or a text is malformed."""

    code = "FORMAT"


class UnsupportedError(Error):
    """Well formed, but not supported by this library."""

    code = "UNSUPPORTED"


class LimitError(Error, ValueError):
    """Larger than a stated limit."""

    code = "LIMIT"


class InputOutputError(Error, OSError):
    """The operating system failed. `errno` is its number, if there is one; the error is then also a
    FileNotFoundError, PermissionError, ..."""

    code = "IO"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class _MissingFileError(InputOutputError, FileNotFoundError):
    pass


class _ExistingFileError(InputOutputError, FileExistsError):
    pass


class _ForbiddenError(InputOutputError, PermissionError):
    pass


class _DirectoryError(InputOutputError, IsADirectoryError):
    pass


class _NoDirectoryError(InputOutputError, NotADirectoryError):
    pass


_SYSTEM_ERRORS: dict[int, type[InputOutputError]] = {
    errno.ENOENT: _MissingFileError, errno.EEXIST: _ExistingFileError, errno.EACCES: _ForbiddenError,
    errno.EPERM: _ForbiddenError, errno.EISDIR: _DirectoryError, errno.ENOTDIR: _NoDirectoryError}
for _kind in _SYSTEM_ERRORS.values():
    _kind.__name__ = _kind.__qualname__ = "InputOutputError"


def system_error(number: int, message: str) -> InputOutputError:
    """An operating system error in Python's form."""
    error = _SYSTEM_ERRORS.get(number, InputOutputError)(message)
    error.errno = number
    return error


class NoMemoryError(Error, MemoryError):
    """An allocation failed, or a budget is used up."""

    code = "NO_MEMORY"


class ArgumentError(Error, ValueError):
    """An argument is invalid."""

    code = "ARGUMENT"


class GrammarError(Error, ValueError):
    """A grammar, schema or pattern is refused."""

    code = "GRAMMAR"


class TemplateError(Error, ValueError):
    """A chat template is refused or failed."""

    code = "TEMPLATE"


class BusyError(Error):
    """The engine's queue is full: try again later."""

    code = "BUSY"


class CancelledError(Error):
    """The call was cancelled."""

    code = "CANCELLED"


class DeadlineError(Error, TimeoutError):
    """A deadline passed."""

    code = "DEADLINE"


class PluginError(Error):
    """A backend plugin was refused or failed."""

    code = "PLUGIN"


class StateError(Error, RuntimeError):
    """The object cannot do this now: it is closed, or in use by another call."""

    code = "STATE"


class InternalError(Error):
    """A defect of the library: please report it."""

    code = "INTERNAL"


BY_STATUS: dict[Union[int, str], Union[type[Exception], Callable[[int, str], Exception]]] = {
    status: kind for status, kind in enumerate(
        (FormatError, UnsupportedError, LimitError, InputOutputError, NoMemoryError, ArgumentError,
         GrammarError, TemplateError, BusyError, CancelledError, DeadlineError, PluginError,
         StateError, InternalError), start=1)}
BY_STATUS["system"] = system_error

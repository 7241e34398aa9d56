"""The exceptions: one for each status of tenon.h, all of them tenon.Error."""

from __future__ import annotations


class Error(Exception):
    """What the library reports. `code` is its name in tenon.h: "FORMAT", "BUSY", ..."""

    code = "ERROR"


class FormatError(Error, ValueError):
    """A file or a text is malformed."""

    code = "FORMAT"


class UnsupportedError(Error):
    """Well formed, but nothing this library can do."""

    code = "UNSUPPORTED"


class LimitError(Error, ValueError):
    """Larger than a stated limit."""

    code = "LIMIT"


class InputOutputError(Error, OSError):
    """The operating system failed."""

    code = "IO"


class NoMemoryError(Error, MemoryError):
    """An allocation failed, or a budget is used up."""

    code = "NO_MEMORY"


class ArgumentError(Error, ValueError):
    """Something invalid was passed."""

    code = "ARGUMENT"


class GrammarError(Error, ValueError):
    """A grammar, schema or pattern is refused."""

    code = "GRAMMAR"


class TemplateError(Error, ValueError):
    """A chat template is refused or failed."""

    code = "TEMPLATE"


class BusyError(Error):
    """The queue of the engine is full: try again later."""

    code = "BUSY"


class CancelledError(Error):
    """Somebody cancelled it."""

    code = "CANCELLED"


class DeadlineError(Error, TimeoutError):
    """The time that was given has passed."""

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


BY_STATUS: dict[int, type[Exception]] = {
    status: kind for status, kind in enumerate(
        (FormatError, UnsupportedError, LimitError, InputOutputError, NoMemoryError, ArgumentError,
         GrammarError, TemplateError, BusyError, CancelledError, DeadlineError, PluginError,
         StateError, InternalError), start=1)}

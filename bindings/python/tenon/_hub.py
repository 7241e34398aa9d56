"""Getting models: libtenon-hub, which is loaded when the first Hub is made."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Callable, Mapping
from ctypes import POINTER, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union

from ._errors import BY_STATUS, StateError, UnsupportedError
from ._fit import misfits
from ._library import bundled_library, library, made_for

PathLike = Union[str, "os.PathLike[str]"]

_TEXTS = ("endpoint", "token", "cache_folder", "url_folder", "ollama_folder", "lmstudio_folder", "llamacpp_folder",
          "proxy", "no_proxy", "ca_file")
_PHASES = {1: "asking", 2: "waiting", 3: "downloading", 4: "verifying"}


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("offline", c_uint32), *((name, c_char_p) for name in _TEXTS),
                ("connections", c_uint32), ("retries", c_uint32), ("stall_seconds", c_double),
                ("connect_seconds", c_double), ("retry_seconds", c_double), ("memory_bytes", c_uint64),
                ("context", c_uint64), ("piece_bytes", c_uint64)]


class _Info(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("is_whole", c_uint32), ("reference", c_char_p), ("path", c_char_p),
                ("projector", c_char_p), ("source", c_char_p), ("commit", c_char_p), ("note", c_char_p),
                ("size_bytes", c_uint64), ("num_files", c_uint64)]


class _Progress(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("phase", c_uint32), ("file", c_char_p), ("file_index", c_uint64),
                ("num_files", c_uint64), ("bytes_done", c_uint64), ("bytes_total", c_uint64)]


_STRUCTS = {"tenon_hub_options": _Options, "tenon_hub_model_info": _Info, "tenon_hub_progress": _Progress}
_OnProgress = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(_Progress))


class HubModel(NamedTuple):
    """A model on this machine. `path` is what tenon.Model takes."""

    reference: str
    path: str
    projector: str
    source: str
    commit: str
    note: str
    size_bytes: int
    num_files: int
    is_whole: bool


class HubProgress(NamedTuple):
    """How far a pull is. phase: "asking", "waiting" (for another process), "downloading", "verifying"."""

    phase: str
    file: str
    file_index: int
    num_files: int
    bytes_done: int
    bytes_total: int


_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def _path() -> str:
    """libtenon-hub beside the libtenon in use, else the name by which the system's loader finds it."""
    beside = Path(library())
    name = bundled_library().name.replace("libtenon.", "libtenon-hub.", 1)
    for candidate in (beside.name.replace("libtenon.", "libtenon-hub.", 1), name):
        if beside.parent != Path(".") and beside.with_name(candidate).exists():
            return str(beside.with_name(candidate))
    return name


def _open(path: str) -> ctypes.CDLL:
    try:
        hub = ctypes.CDLL(path)
        hub.tenon_hub_interface_description.restype = c_char_p
        described = json.loads(hub.tenon_hub_interface_description())
    except (OSError, AttributeError) as error:
        raise UnsupportedError(f"no libtenon-hub was found beside {library()}: {error}") from error
    ours = made_for("_hub_made_for.json")
    reasons = misfits(ours, described)
    if reasons:
        raise UnsupportedError(f"{path} is libtenon-hub {described['version']}, which does not fit this "
                               f"binding made for {ours['version']}: {reasons[0]}")
    hub.tenon_hub_create.argtypes = [POINTER(_Options), POINTER(c_void_p)]
    hub.tenon_hub_pull.argtypes = [c_void_p, c_char_p, _OnProgress, c_void_p, POINTER(c_void_p)]
    hub.tenon_hub_find.argtypes = [c_void_p, c_char_p, POINTER(c_void_p)]
    hub.tenon_hub_remove.argtypes = [c_void_p, c_char_p, POINTER(c_uint64)]
    hub.tenon_hub_model_get_info.argtypes = [c_void_p, POINTER(_Info)]
    hub.tenon_hub_list_create.argtypes = [c_void_p, POINTER(c_void_p)]
    hub.tenon_hub_list_size.argtypes = [c_void_p]
    hub.tenon_hub_list_size.restype = c_size_t
    hub.tenon_hub_list_get_info.argtypes = [c_void_p, c_size_t, POINTER(_Info)]
    hub.tenon_hub_last_error.restype = c_char_p
    for name in ("tenon_hub_destroy", "tenon_hub_model_destroy", "tenon_hub_list_destroy", "tenon_hub_cancel"):
        getattr(hub, name).argtypes = [c_void_p]
        getattr(hub, name).restype = None
    return hub


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        path = _path()
        with _lock:
            if _loaded is None:
                _loaded = _open(path)
    return _loaded


def _check(status: int) -> None:
    if status != 0:
        text = _library().tenon_hub_last_error().decode("utf-8", "replace")
        raise BY_STATUS[status](text)  # type: ignore[call-arg]


def _model_of(info: _Info) -> HubModel:
    def text(name: str) -> str:
        value: bytes = getattr(info, name)
        return value.decode("utf-8", "surrogateescape")

    return HubModel(text("reference"), text("path"), text("projector"), text("source"), text("commit"), text("note"),
                    info.size_bytes, info.num_files, bool(info.is_whole))


# ---- The environment, which the library does not read ---------------------------------------------


def _variable(environment: Mapping[str, str], *names: str) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _is_on(text: str) -> bool:
    return text.upper() in ("1", "ON", "YES", "TRUE")


def options_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """Options of a hub as the variables of an environment say (docs/use/getting-models.md)."""
    home = environment.get("HOME", "")
    caches = _variable(environment, "XDG_CACHE_HOME") or f"{home}/.cache"
    hub_home = _variable(environment, "HF_HOME") or f"{caches}/huggingface"
    token = _variable(environment, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
    if not token and not _is_on(_variable(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN")):
        try:
            words = Path(_variable(environment, "HF_TOKEN_PATH") or f"{hub_home}/token").read_text().split()
            token = words[0] if words else ""
        except (OSError, UnicodeDecodeError):
            pass
    endpoint = _variable(environment, "HF_ENDPOINT")
    proxies = ("http_proxy",) if endpoint.startswith("http://") else ("https_proxy", "HTTPS_PROXY")

    def first_folder(*folders: str) -> str:
        return next((folder for folder in folders if folder and os.path.isdir(folder)), "")

    return {
        "offline": any(_is_on(_variable(environment, name)) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")),
        "endpoint": endpoint, "token": token,
        "cache_folder": _variable(environment, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") or f"{hub_home}/hub",
        "url_folder": f"{caches}/tenon/urls",
        "ollama_folder": first_folder(_variable(environment, "OLLAMA_MODELS"), f"{home}/.ollama/models",
                                      "/usr/share/ollama/.ollama/models"),
        "lmstudio_folder": first_folder(f"{home}/.lmstudio/models", f"{home}/.cache/lm-studio/models"),
        "llamacpp_folder": first_folder(_variable(environment, "LLAMA_CACHE"), f"{caches}/llama.cpp"),
        "proxy": _variable(environment, *proxies, "all_proxy", "ALL_PROXY"),
        "no_proxy": _variable(environment, "no_proxy", "NO_PROXY"),
        "ca_file": _variable(environment, "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    }


class Hub:
    """Models by name: "hf:owner/name:Q4_K_M", "https://...", "ollama:name:tag".

        hub = tenon.Hub()
        model = tenon.Model(hub.pull("hf:owner/name:Q4_K_M").path)

    Options are those of tenon/hub.h; what is not given comes from the environment (HF_TOKEN,
    HF_HUB_CACHE, https_proxy, ...). Any thread."""

    __slots__ = ("_handle", "__weakref__")

    def __init__(self, **options: Any) -> None:
        self._handle: Optional[int] = None
        known = {field[0] for field in _Options._fields_} - {"struct_size"}
        unknown = sorted(set(options) - known)
        if unknown:
            raise TypeError(f"tenon.Hub has no option {unknown[0]!r}")
        wanted = {**options_of(os.environ), **{name: value for name, value in options.items() if value is not None}}
        given = _Options(struct_size=ctypes.sizeof(_Options))
        for name, value in wanted.items():
            setattr(given, name, (os.fsencode(value) or None) if name in _TEXTS else value)
        handle = c_void_p()
        _check(_library().tenon_hub_create(ctypes.byref(given), ctypes.byref(handle)))
        self._handle = handle.value

    def _live(self) -> int:
        if self._handle is None:
            raise StateError("the hub has been closed")
        return self._handle

    def _taken(self, handle: c_void_p) -> HubModel:
        try:
            info = _Info(struct_size=ctypes.sizeof(_Info))
            _check(_library().tenon_hub_model_get_info(handle, ctypes.byref(info)))
            return _model_of(info)
        finally:
            _library().tenon_hub_model_destroy(handle)

    def pull(self, reference: str, *, progress: Optional[Callable[[HubProgress], Any]] = None) -> HubModel:
        """Fetches what is missing. progress is called at most ten times a second: a true result
        cancels with CancelledError, and its exception is raised here. Bytes that have arrived are kept."""
        raised: list[BaseException] = []

        def tell(_: Any, told: Any) -> int:
            try:  # also where Ctrl-C arrives
                now = told.contents
                return int(bool(progress is not None and progress(HubProgress(
                    _PHASES.get(now.phase, ""), now.file.decode("utf-8", "replace"), now.file_index, now.num_files,
                    now.bytes_done, now.bytes_total))))
            except BaseException as error:
                raised.append(error)
                return 1

        model = c_void_p()
        call = _OnProgress(tell)
        status = _library().tenon_hub_pull(self._live(), reference.encode(), call, None, ctypes.byref(model))
        if raised:
            if status == 0:
                _library().tenon_hub_model_destroy(model)
            raise raised[0]
        _check(status)
        return self._taken(model)

    def find(self, reference: str) -> HubModel:
        """The model on this machine; asks nobody. StateError if it is not here."""
        model = c_void_p()
        _check(_library().tenon_hub_find(self._live(), reference.encode(), ctypes.byref(model)))
        return self._taken(model)

    def list(self) -> list[HubModel]:
        """All models on this machine, those of other programs included."""
        handle = c_void_p()
        hub = _library()
        _check(hub.tenon_hub_list_create(self._live(), ctypes.byref(handle)))
        try:
            models = []
            for index in range(hub.tenon_hub_list_size(handle)):
                info = _Info(struct_size=ctypes.sizeof(_Info))
                _check(hub.tenon_hub_list_get_info(handle, index, ctypes.byref(info)))
                models.append(_model_of(info))
            return models
        finally:
            hub.tenon_hub_list_destroy(handle)

    def remove(self, reference: str) -> int:
        """Removes a model that was pulled; returns the bytes freed."""
        freed = c_uint64()
        _check(_library().tenon_hub_remove(self._live(), reference.encode(), ctypes.byref(freed)))
        return freed.value

    def cancel(self) -> None:
        """Ends running pulls, from any thread; later ones raise CancelledError, too."""
        if self._handle is not None:
            _library().tenon_hub_cancel(self._handle)

    def close(self) -> None:
        """Frees the hub. No call may be running."""
        handle, self._handle = self._handle, None
        if handle is not None and _loaded is not None:
            _loaded.tenon_hub_destroy(handle)

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def path_of(reference: str, hub: Optional[Hub], progress: Optional[Callable[[HubProgress], Any]]) -> str:
    """Path of a model that is found, or else pulled."""
    used = hub or Hub()
    try:
        try:
            return used.find(reference).path
        except StateError:
            return used.pull(reference, progress=progress).path
    finally:
        if hub is None:
            used.close()

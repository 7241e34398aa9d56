"""Numbers in the library's memory as buffers: numpy.asarray(logits) copies nothing.

Such memory is valid until the next call on its session. The session refuses that call while the
buffer, or anything made from it, is alive, as a bytearray with a memoryview refuses to grow."""

from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any

from ._native import Handle


@functools.lru_cache(maxsize=16)
def _array_of(count: int) -> type[Any]:
    # A separate class, because its instances can be weakly referenced.
    return type("Logits", (ctypes.c_float * count,), {"__doc__": "[vocabulary] f32, without a copy."})


def lend(place: tuple[int, int], handle: Handle) -> "ctypes.Array[ctypes.c_float]":
    """[count] f32 at an address of the library. The handle refuses calls while it is alive."""
    address, count = place
    array: "ctypes.Array[ctypes.c_float]" = _array_of(count).from_address(address)
    handle.hold()
    weakref.finalize(array, handle.release).atexit = False
    return array


def floats(memory: "bytearray | bytes") -> "memoryview[float]":
    """[count] f32 over memory of Python's own."""
    return memoryview(memory).cast("f")


def place_of(numbers: Any) -> Any:
    """Logits for the library: those that it lent without a copy, others as bytes."""
    if isinstance(numbers, ctypes.Array):
        return (ctypes.addressof(numbers), len(numbers))
    if isinstance(numbers, (list, tuple)):
        return list(numbers)
    view = memoryview(numbers)
    if view.itemsize != 4 or not view.format.endswith("f"):
        raise TypeError(f"logits are 32-bit floats, not of format {view.format}")
    return view.tobytes()

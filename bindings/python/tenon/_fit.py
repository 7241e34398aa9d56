"""Checks that a library fits the interface this binding was compiled for.

Structures begin with their size and grow at the end, and libraries gain functions: such differences
are harmless in both directions. Anything else (a moved field, another type, another value) would be
misread, so the library is refused before it is used. The rules are those of docs/bindings.md."""

from __future__ import annotations

from typing import Any

# A field whose name begins so may become another one: until then it is 0 and ignored.
RESERVED = "reserved"


def _fields(struct: dict[str, Any]) -> list[tuple[str, int, int, str]]:
    return [(field["name"], field["offset"], field["size"], field["type"])
            for field in struct["fields"]]


def _struct_misfits(name: str, made_for: dict[str, Any], found: dict[str, Any]) -> list[str]:
    theirs = {field[0]: field for field in _fields(found)}
    ours = [tuple(field) for field in made_for["fields"]]
    end = max(offset + size for _, offset, size, _ in theirs.values()) if theirs else 0
    misfits = []
    for field, offset, size, kind in ours:
        met = theirs.get(field)
        if met == (field, offset, size, kind):
            continue
        if field.startswith(RESERVED):
            # Our value for a replaced field is 0; but the new field must stand alone in its place.
            if all(other[1] == offset and other[2] == size
                   for other in theirs.values()
                   if other[1] < offset + size and offset < other[1] + other[2]):
                continue
        if met is None and offset >= end:
            continue  # an older library reads and writes no more than it knows
        if met is None:
            misfits.append(f"{name}.{field} is missing")
        elif met[1] != offset:
            misfits.append(f"{name}.{field} lies at byte {met[1]}, not at {offset}")
        else:
            misfits.append(f"{name}.{field} is {met[3]} of {met[2]} bytes, not {kind} of {size}")
    # A newer library's further fields lie beyond ours, or in our reserved ones.
    known = {field for field, *_ in ours}
    for field, offset, size, _ in theirs.values():
        if field in known:
            continue
        over = [mine for mine in ours if mine[1] < offset + size and offset < mine[1] + mine[2]]
        if any(not mine[0].startswith(RESERVED) for mine in over):
            misfits.append(f"{name}.{field} lies where {over[0][0]} should be")
        elif not over and offset + size <= made_for["size"] and offset < ours[-1][1]:
            misfits.append(f"{name}.{field} lies between the fields that are known")
    return misfits


def _signature(item: dict[str, Any]) -> list[str]:
    return [item["returns"], *(parameter["type"] for parameter in item["parameters"])]


def misfits(made_for: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Differences of a library's description (tenon_interface_description) that make it unusable;
    empty: it fits."""
    result = []
    if made_for["version"].split(".")[0] != found["version"].split(".")[0]:
        return [f"its major version is {found['version'].split('.')[0]}"]
    structs = {struct["name"]: struct for struct in found["structs"]}
    for name, ours in made_for["structs"].items():
        if name in structs:  # else no function of the library takes it
            result += _struct_misfits(name, ours, structs[name])
    for kind in ("callbacks", "functions"):
        theirs = {item["name"]: _signature(item) for item in found[kind]}
        for name, signature in made_for[kind].items():
            if theirs.get(name, signature) != signature:
                result.append(f"{name} is ({', '.join(theirs[name])}), not ({', '.join(signature)})")
    values = {item["name"]: item["value"] for item in found["constants"]}
    for name, value in made_for["constants"].items():
        if values.get(name, value) != value:
            result.append(f"{name} is {values[name]}, not {value}")
    return result

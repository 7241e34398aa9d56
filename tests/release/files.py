#!/usr/bin/env python3
"""Judges the compiled files of an unpacked archive of a release, by reading them.

    files.py FOLDER TARGET [PATH...]

TARGET is that of the archive, such as x86_64-linux-gnu.2.28. Each file is for its processor, asks the C library for
no symbol that is newer than the target's, and needs no library but the C library's own and those in the folder; it
looks for these beside itself alone. Needs each kind of file that the archive promises. No file has one of the PATHs
in it, those of the machine that built it. Needs binutils.
"""

import re
import subprocess
import sys
from pathlib import Path

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
GLIBC = re.compile(r"lib(c|m|dl|pthread)\.so\.\d+|ld-linux-[a-z0-9-]+\.so\.\d+")
MUSL = re.compile(r"libc\.so")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def wrong_in(path, inside, machine, limit):
    """Sentences about a compiled file. limit: of glibc, as (2, 28), or None for musl."""
    said = readelf("-h", "-d", "-l", path)
    if MACHINES[machine] not in said:
        yield f"is not for {machine}"
    own = GLIBC if limit else MUSL
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", said):
        if not own.fullmatch(needed) and needed not in inside:
            yield f"needs {needed}, which is neither in the archive nor of the C library"
    for place in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", said):
        if not place.startswith("$ORIGIN"):
            yield f"looks for libraries in {place}"
    loader = re.search(r"interpreter: (.*)\]", said)
    if loader and ("/ld-musl-" in loader.group(1)) != (limit is None):
        yield f"is started by {loader.group(1)}"
    for name, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)", readelf("-V", path)):
        if name != "GLIBC":
            yield f"asks for a symbol of {name}_{version}"
        elif limit is None or tuple(map(int, version.split("."))) > limit:
            yield f"asks for a symbol of GLIBC_{version}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, target, places = Path(sys.argv[1]), sys.argv[2], [place.encode() for place in sys.argv[3:]]
    machine = target.split("-")[0]
    of_glibc = re.search(r"gnu\.([0-9.]+)$", target)
    limit = tuple(map(int, of_glibc.group(1).split("."))) if of_glibc else None
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    inside = {path.name for path in files} | {path.name for path in folder.rglob("*") if path.is_symlink()}
    wrong, compiled = [], set()
    for path in files:
        data = path.read_bytes()
        wrong += [f"{path} holds {place.decode()}" for place in places if place in data]
        if data.startswith(b"\x7fELF") and not path.is_symlink():
            compiled.add(path.name.split(".so")[0])
            wrong += [f"{path} {sentence}" for sentence in dict.fromkeys(wrong_in(path, inside, machine, limit))]
    for name in ("libtenon", "libtenon-server", "libtenon-vulkan", "tenon"):
        if name not in compiled:
            wrong.append(f"{folder} has no {name}")
    for name in ("libtenon.a", "tenon.h", "tenon.hpp", "tenon.pc", "tenon-config.cmake", "LICENSE", "THIRD-PARTY.txt",
                 "libtenon.spdx.json", "tenon.1"):
        if name not in inside:
            wrong.append(f"{folder} has no {name}")
    for sentence in wrong:
        print(sentence)
    sys.exit(f"FAILED: {len(wrong)} faults in {folder}" if wrong else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Holds packages against what each one promises (docs/packaging.md), by reading the archives. Needs binutils.

    check_packages.py PACKAGE...      a wheel, an npm package, a jar, a crate, or the archive of the Go module

Each has the licence, and beside the library the licences of what is inside and a bill of materials for each file of
Tenon's. Nothing runs or is fetched when one is installed. Compiled files ask for nothing that is neither in the
package nor among the libraries that PEP 600 lets a wheel take from the system, but for OpenSSL, of which decision 13
speaks; they have no search path but $ORIGIN, no executable stack and no relocation of code. A wheel's tag is not older
than the symbols that its files ask for, and its RECORD is that of its files. AUDITWHEEL names that program, which is
asked for the tag, too, where it is there.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))
sys.dont_write_bytecode = True
from build_wheel import platform_tag  # noqa: E402

# Of the libraries that every policy of PEP 600 lists, those that C and C++ programs need; and musl.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux-[a-z0-9-]+\.so\.\d+|libc\.so")
OPENSSL = re.compile(r"lib(ssl|crypto)\.so\.3")
NEED_OPENSSL = re.compile(r"libtenon-server\.so\.[0-9.]+")
SCRIPTS_AT_INSTALLATION = {"preinstall", "install", "postinstall", "prepare", "prepublish"}


def contents(package):
    """{name: bytes} of the files of an archive."""
    if zipfile.is_zipfile(package):
        with zipfile.ZipFile(package) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(package) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True, text=True).stdout


def wrong_in_compiled(name, path, inside):
    """Sentences about one compiled file; inside: the file names of the package."""
    dynamic = readelf("-d", path)
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        allowed = needed in inside or SYSTEM.fullmatch(needed)
        if not allowed and not (OPENSSL.fullmatch(needed) and NEED_OPENSSL.fullmatch(Path(name).name)):
            yield f"{name} needs {needed}, which is neither in the package nor on every system"
    for places in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic):
        if not all(place.startswith("$ORIGIN") for place in places.split(":")):
            yield f"{name} looks for libraries in {places}"
    if "(TEXTREL)" in dynamic:
        yield f"{name} has relocations of code"
    if re.search(r"GNU_STACK.* RWE ", readelf("-l", path)):
        yield f"{name} asks for an executable stack"


def wrong_in_documents(files, compiled):
    names = [Path(name).name for name in files]
    if "LICENSE" not in names:
        yield "it has no LICENSE"
    if not any(re.fullmatch(r"libtenon\.so\..*", Path(name).name) for name in compiled):
        return
    if "THIRD-PARTY.txt" not in names:
        yield "it has no licences of what is inside"
    for name in compiled:
        own = Path(name).name.split(".so")[0]
        # Modules of a language are compiled from one file of Tenon's own each.
        if (own.startswith("libtenon") and own != "libtenon-jni" or own == "tenon") and f"{own}.spdx.json" not in names:
            yield f"it has no bill of materials of {own}"
    for name, data in files.items():
        if name.endswith(".spdx.json") and not json.loads(data)["packages"]:
            yield f"{name} lists nothing"


def wrong_in_installation(package, files):
    for name, data in files.items():
        if package.suffix == ".tgz" and name == "package/package.json":
            described = json.loads(data)
            for script in SCRIPTS_AT_INSTALLATION & set(described.get("scripts", {})):
                yield f"it runs a script at installation: {script}"
            if described.get("dependencies"):
                yield f"it needs {', '.join(described['dependencies'])}"
        if package.suffix == ".whl" and name.endswith("/METADATA"):
            for needed in re.findall(r"^Requires-Dist: (.*)", data.decode(), re.MULTILINE):
                if "extra ==" not in needed:  # what is asked for by name: tenon-llm[ray]
                    yield f"it needs {needed}"


def wrong_in_wheel(package, files, compiled):
    record = next(data for name, data in files.items() if name.endswith(".dist-info/RECORD")).decode()
    lines = {line.rsplit(",", 2)[0]: line for line in record.splitlines()}
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if not name.endswith("/RECORD") and lines.get(name) != f"{name},sha256={digest},{len(data)}":
            yield f"RECORD says something else of {name}"
    tag = package.stem.split("-")[-1]
    if tag != platform_tag(compiled.values()):
        yield f"its tag is {tag}, its files ask for {platform_tag(compiled.values())}"
    auditwheel = shutil.which(os.environ.get("AUDITWHEEL", "auditwheel"))
    if auditwheel is None:
        print(f"LEFT OUT: {package.name} by auditwheel, which is not installed")
        return
    said = subprocess.run([auditwheel, "show", package], capture_output=True, text=True)
    if f'"{tag}"' not in said.stdout:
        yield f"auditwheel does not find {tag}: {said.stdout}{said.stderr}"


def wrong_in(package):
    files = contents(package)
    with tempfile.TemporaryDirectory() as folder:
        compiled = {}
        for name, data in files.items():
            if data.startswith(b"\x7fELF"):
                compiled[name] = Path(folder) / str(len(compiled))
                compiled[name].write_bytes(data)
        inside = {Path(name).name for name in files}
        for name, path in compiled.items():
            yield from wrong_in_compiled(name, path, inside)
        yield from wrong_in_documents(files, compiled)
        yield from wrong_in_installation(package, files)
        if package.suffix == ".whl":
            yield from wrong_in_wheel(package, files, compiled)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = 0
    for package in map(Path, sys.argv[1:]):
        wrong = list(wrong_in(package))
        failed += bool(wrong)
        print(f"{package.name}: {'FAILED' if wrong else 'holds what it promises'}")
        for sentence in wrong:
            print(f"  {sentence}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

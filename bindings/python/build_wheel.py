#!/usr/bin/env python3
"""Builds the wheel: the extension module compiled for the limited API, the package, and from a build of the
library libtenon.so, its plugins and the program. Needs a C compiler, cmake and Python's headers alone.

    build_wheel.py BUILD_FOLDER OUTPUT_FOLDER

One wheel serves Python 3.9 and every later one; nothing is compiled when it is installed.
"""

import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def platform_tag():
    """That of the C library which the files were linked with: pip refuses the wheel under an older one."""
    _, version = os.confstr("CS_GNU_LIBC_VERSION").split()
    return f"manylinux_{version.replace('.', '_')}_{platform.machine()}"


def compile_extension(output):
    headers = sysconfig.get_path("include")
    if not (Path(headers) / "Python.h").exists():
        sys.exit(f"{headers}/Python.h is missing: install Python's headers (Debian: python3-dev)")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
                    "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-s", f"-I{headers}",
                    f"-I{ROOT / 'capi/include'}", str(HERE / "native/module.c"), "-o", str(output)],
                   check=True)


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: tenon
Version: {version}
Summary: Run language models inside your program
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def write_wheel(files, output):
    """files: {name in the wheel: path or bytes}. Equal files give equal bytes."""
    record = []
    info = next(name for name in files if name.endswith("/METADATA")).rsplit("/", 1)[0]
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, source in sorted(files.items()):
            data = source if isinstance(source, bytes) else source.read_bytes()
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            is_program = not isinstance(source, bytes) and os.access(source, os.X_OK)
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)),
                       "\n".join(record) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    version = json.loads((HERE / "tenon/_made_for.json").read_text())["version"]
    soname = f"libtenon.so.{'.'.join(version.split('.')[:2])}"
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary)
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(staged), "--strip"],
                       check=True, stdout=subprocess.DEVNULL)
        compile_extension(staged / "_native.abi3.so")
        library = next(staged.glob(f"lib*/**/{soname}"))
        files = {"tenon/_native.abi3.so": staged / "_native.abi3.so",
                 f"tenon/lib/{soname}": library.resolve()}
        for plugin in sorted((library.parent / "tenon").glob("*.so")):
            files[f"tenon/lib/tenon/{plugin.name}"] = plugin
        # What the program is linked with.
        server = library.parent / soname.replace("libtenon.", "libtenon-server.")
        if server.exists():
            files[f"tenon/lib/{server.name}"] = server.resolve()
        program = staged / "bin/tenon"
        if program.exists():
            files["tenon/bin/tenon"] = program
        for source in sorted((HERE / "tenon").iterdir()):
            if source.suffix in (".py", ".pyi", ".json") or source.name == "py.typed":
                files[f"tenon/{source.name}"] = source
        tag = f"cp39-abi3-{platform_tag()}"
        info = f"tenon-{version}.dist-info"
        files[f"{info}/METADATA"] = metadata(version).encode()
        files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\n"
                                  f"Tag: {tag}\n").encode()
        files[f"{info}/LICENSE"] = ROOT / "LICENSE"
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("tenon-*.whl"):
            old.unlink()
        wheel = output / f"tenon-{version}-{tag}.whl"
        write_wheel(files, wheel)
        print(wheel)


if __name__ == "__main__":
    if shutil.which("cmake") is None:
        sys.exit("cmake is missing")
    main()

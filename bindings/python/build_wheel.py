#!/usr/bin/env python3
"""Builds the wheel: the extension module generated and compiled for the limited API, the package, and from a build of
the library libtenon.so, its plugins and the program. Needs a C compiler, binutils, cmake and Python's headers.

    build_wheel.py BUILD_FOLDER OUTPUT_FOLDER

One wheel serves Python 3.9 and every later one; nothing is compiled when it is installed.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import generate  # noqa: E402
from names import PYPI  # noqa: E402
from package_parts import Parts, compiler_of, target_of  # noqa: E402


# The first manylinux tag (2_N) whose systems have a libstdc++ with GLIBCXX_3.4.X: X -> N, as PEP 600's list of
# policies has it.
MANYLINUX_OF_LIBSTDCXX = {29: 34, 30: 35, 31: 39, 32: 39, 33: 39}


def platform_tag(files):
    """manylinux by the newest symbols that the files ask of the C and C++ libraries: pip refuses the wheel where
    those are older. All else that they ask for is in the wheel, but for OpenSSL of the system, which tenon/bin/tenon
    alone needs (docs/decisions/0013-tls-by-openssl.md). Files for musl, which has no versions of symbols, give the
    tag of musl 1.2."""
    files = list(files)
    kinds = {target_of(file) for file in files}
    if len(kinds) != 1:
        sys.exit(f"build_wheel.py: the files are of several kinds: {kinds}")
    machine, libc = kinds.pop()
    if libc == "musl":
        return f"musllinux_1_2_{machine}"
    asked = "".join(subprocess.run(["readelf", "-V", str(file)], check=True, capture_output=True, text=True).stdout
                    for file in files)
    minor = max(int(number) for number in re.findall(r"\bGLIBC_2\.(\d+)", asked))
    newest = max((int(number) for number in re.findall(r"\bGLIBCXX_3\.4\.(\d+)", asked)), default=0)
    if newest > max(MANYLINUX_OF_LIBSTDCXX):
        sys.exit(f"build_wheel.py: no manylinux tag is known for GLIBCXX_3.4.{newest}")
    minor = max(minor, MANYLINUX_OF_LIBSTDCXX.get(newest, 0))
    return f"manylinux_2_{minor}_{machine}"


def compile_extension(build, output):
    headers = sysconfig.get_path("include")
    if not (Path(headers) / "Python.h").exists():
        sys.exit(f"{headers}/Python.h is missing: install Python's headers (Debian: python3-dev)")
    # Debian's pyconfig.h includes one of several by its processor. All targets have 64 bits and the limited API, so
    # the one that is installed serves each of them.
    config = next((path for path in Path(sysconfig.get_config_h_filename()).resolve().parents[2].glob(
        f"*-linux-gnu/python{sysconfig.get_python_version()}/pyconfig.h")), None)
    with tempfile.TemporaryDirectory() as own:
        for machine in ("x86_64", "aarch64") if config else ():
            folder = Path(own) / f"{machine}-linux-gnu/python{sysconfig.get_python_version()}"
            folder.mkdir(parents=True)
            (folder / "pyconfig.h").symlink_to(config)
        subprocess.run([compiler_of(build), *([f"-I{own}"] if config else []), "-std=c11", "-D_GNU_SOURCE", "-O2",
                        "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-s",
                        f"-I{headers}", f"-I{ROOT / 'capi/include'}", str(HERE / "native/module.c"), "-o",
                        str(output)], check=True)


def metadata(version, licence_files):
    return f"""Metadata-Version: 2.4
Name: {PYPI}
Version: {version}
Summary: Run language models inside your program
License-Expression: Apache-2.0
{"".join(f"License-File: {name}" + chr(10) for name in licence_files)}Requires-Python: >=3.9
Provides-Extra: ray
Requires-Dist: ray[serve,data]>=2.60; extra == "ray"
Provides-Extra: dynamo
Requires-Dist: ai-dynamo-runtime>=1.6.1; extra == "dynamo"
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
    generate.main()
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary)
        parts = Parts(build, staged)
        compile_extension(build, staged / "_native.abi3.so")
        files = {"tenon/_native.abi3.so": staged / "_native.abi3.so", f"tenon/lib/{parts.soname}": parts.library}
        for plugin in parts.plugins:
            files[f"tenon/lib/tenon/{plugin.name}"] = plugin
        if parts.server:  # what the program is linked with
            files[f"tenon/lib/{parts.server.name}"] = parts.server.resolve()
        if parts.hub:
            files[f"tenon/lib/{parts.hub.name}"] = parts.hub.resolve()
        if parts.media:  # the program decodes pictures by it
            files[f"tenon/lib/{parts.media.name}"] = parts.media.resolve()
        if parts.program:
            files["tenon/bin/tenon"] = parts.program
        for source in sorted((HERE / "tenon").rglob("*")):
            if source.suffix in (".py", ".pyi", ".json") or source.name == "py.typed":
                files[source.relative_to(HERE).as_posix()] = source
        binaries = [path for name, path in files.items() if not name.endswith((".py", ".pyi", ".json", "py.typed"))]
        tag = f"cp39-abi3-{platform_tag(binaries)}"
        info = f"{PYPI.replace('-', '_')}-{parts.version}.dist-info"
        licences = parts.licences()
        files[f"{info}/METADATA"] = metadata(parts.version, licences).encode()
        files |= {f"{info}/licenses/{name}": path for name, path in licences.items()}
        bills = parts.bills(parts.library, *parts.plugins, parts.server, parts.hub, parts.media,
                             parts.program)
        files |= {f"{info}/sboms/{name}": path for name, path in bills.items()}
        files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\n"
                                  f"Tag: {tag}\n").encode()
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("tenon*.whl"):
            old.unlink()
        wheel = output / f"{PYPI.replace('-', '_')}-{parts.version}-{tag}.whl"
        write_wheel(files, wheel)
        print(wheel)


if __name__ == "__main__":
    if shutil.which("cmake") is None:
        sys.exit("cmake is missing")
    main()

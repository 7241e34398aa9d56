"""What the packages of all languages are made of beside their own code: the version, and from a build the library,
its plugins, the program, the licences and the bills of materials. Run by itself it compares the versions:

    package_parts.py [VERSION]   each place that names a version must name this one (that of CMakeLists.txt)
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

# Each file that names the version, and how: nothing but CMakeLists.txt is written by hand. What is made from the
# version when a package is built (METADATA, package.json, pom.xml, made_for.json, conanfile.py) is not here.
NAMED = [
    ("CMakeLists.txt", r"project\(tenon VERSION ([0-9.]+)"),
    ("bindings/interface.json", r'"version": "([0-9.]+)"'),
    ("bindings/server_interface.json", r'"version": "([0-9.]+)"'),
    ("bindings/hub_interface.json", r'"version": "([0-9.]+)"'),
    ("bindings/go/made_for.json", r'"version":\s*"([0-9.]+)"'),
    ("bindings/go/made_for_server.json", r'"version":\s*"([0-9.]+)"'),
    ("bindings/rust/tenon-sys/src/made_for.rs", r'VERSION: &str = "([0-9.]+)"'),
    ("bindings/rust/Cargo.toml", r'(?<!-)\bversion = "([0-9.]+)"'),
    ("bindings/rust/Cargo.lock", r'name = "tenon-llm(?:-sys)?"\nversion = "([0-9.]+)"'),
    ("bindings/rust/README.md", r"tenon-llm-(?:sys-)?([0-9]+\.[0-9]+\.[0-9]+)"),
    ("bindings/java/README.md", r"tenon-([0-9]+\.[0-9]+\.[0-9]+)"),
    ("cmake/packaging/meson/tenon.wrap", r"tenon-([0-9.]+[0-9])"),
    ("cmake/packaging/vcpkg/tenon/vcpkg.json", r'"version": "([0-9.]+)"'),
    ("docs/packaging.md", r"tenon-([0-9]+\.[0-9]+\.[0-9]+)"),
    ("CHANGELOG.md", r"^## ([0-9.]+)"),
]


def project_version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(NAMED[0][1], text).group(1)


def different_versions(version):
    """Sentences about the files that name another version, or none."""
    found = []
    for name, pattern in NAMED:
        text = (ROOT / name).read_text(encoding="utf-8")
        versions = re.findall(pattern, text, re.MULTILINE)
        if name == "CHANGELOG.md":
            versions = versions[:1]
        if not versions:
            found.append(f"{name} names no version")
        found += [f"{name} says {other}, not {version}" for other in versions if other != version]
    return found


def target_of(file):
    """(processor, C library) of a compiled file, as ("x86_64", "glibc") or ("aarch64", "musl")."""
    said = subprocess.run(["readelf", "-W", "-h", "-d", str(file)], check=True, capture_output=True, text=True).stdout
    machine = re.search(r"Machine: +(.*)", said).group(1)
    names = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}
    if machine not in names:
        sys.exit(f"{file} is for a processor without packages: {machine}")
    of_musl = re.search(r"NEEDED.*\[(libc\.so|libc\.musl-.*)\]", said)
    return names[machine], "musl" if of_musl else "glibc"


def compiler_of(build):
    """A C compiler for what `build` builds: CC, the build's own cross compiler, or cc."""
    cross = Path(build) / "zig/cc"
    return os.environ.get("CC") or (str(cross) if cross.exists() else "cc")


class Parts:
    """What a build installs, staged in `folder`: `version`, `soname`, and the paths below."""

    def __init__(self, build, folder):
        self.version = project_version()
        described = json.loads((HERE / "interface.json").read_text(encoding="utf-8"))["version"]
        if described != self.version:
            sys.exit(f"CMakeLists.txt says {self.version}, the interface {described}: run bindings/generate.sh")
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(folder), "--strip"],
                       check=True, stdout=subprocess.DEVNULL)
        self.soname = f"libtenon.so.{'.'.join(self.version.split('.')[:2])}"
        library = next(folder.glob(f"lib*/**/{self.soname}"))
        self.library = library.resolve()
        self.plugins = sorted((library.parent / "tenon").glob("*.so"))
        server = library.parent / self.soname.replace("libtenon.", "libtenon-server.")
        self.server = server if server.exists() else None
        hub = library.parent / self.soname.replace("libtenon.", "libtenon-hub.")
        self.hub = hub if hub.exists() else None
        media = library.parent / self.soname.replace("libtenon.", "libtenon-media.")
        self.media = media if media.exists() else None
        self.program = folder / "bin/tenon" if (folder / "bin/tenon").exists() else None
        self.documents = folder / "share/doc/tenon"

    def licences(self):
        """{name: path} of the licence and of those of what is inside."""
        others = self.documents / "THIRD-PARTY.txt"
        return {"LICENSE": ROOT / "LICENSE", **({others.name: others} if others.exists() else {})}

    def bills(self, *files):
        """{name: path} of the bills of materials of these files (cmake/packaging/sbom.py)."""
        names = [f"{file.name.split('.so')[0]}.spdx.json" for file in files if file]
        found = {name: self.documents / name for name in names if (self.documents / name).exists()}
        if len(found) != len(names):
            print("LEFT OUT: bills of materials, which need python3 and a build by ninja", file=sys.stderr)
        return found


if __name__ == "__main__":
    wrong = different_versions(sys.argv[1] if len(sys.argv) > 1 else project_version())
    for sentence in wrong:
        print(sentence)
    sys.exit(f"FAILED: {len(wrong)} places" if wrong else 0)

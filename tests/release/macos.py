#!/usr/bin/env python3
"""Judges the programs and libraries for macOS of an unpacked archive of a release, by reading them.

    macos.py FOLDER TARGET [PATH...]

TARGET is that of the archive: aarch64-macos, x86_64-macos or universal-macos. Each file has an image for each of its
processors and none else; it runs on macOS 11, needs the system's library and those in the folder alone, and looks for
these beside itself. Libraries export what tests/abi lists, and take nothing from the system that older ones lack, but
weakly, nor what is not Apple's public interface. No memory is writable and executable. Signatures are there where
Macs ask for them, and suit the pages. No file has one of the PATHs in it, those of the machine that built it.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "cmake/packaging"))
from mach_o import MachOError, check_signature, is_mach_o, read_images  # noqa: E402

PROCESSORS = {"aarch64-macos": ["arm64"], "x86_64-macos": ["x86_64"], "universal-macos": ["arm64", "x86_64"]}
MINIMUM = "11.0.0"
SYSTEM = "/usr/lib/libSystem.B.dylib"
# Names that zig's linker defines and exports in each library: the addresses of its own header.
OF_THE_LINKER = {"___dso_handle", "__mh_dylib_header", "__mh_bundle_header", "__mh_execute_header"}
PRIVATE = re.compile(r"___ulock_|__os_|_os_sync_\w+_private|_pthread_jit_|_csr_|_sandbox_|_memorystatus_")
SINCE_14_4 = re.compile(r"_os_sync_")
WRITABLE, EXECUTABLE = 2, 4
PIE, TWO_LEVEL = 0x200000, 0x80


def committed(name):
    return {"_" + symbol for symbol in (ROOT / "tests/abi" / name).read_text().split()}


def expected_files(version):
    """{path: (kind, name by which users find it, exports)}; None where a program may export what it likes."""
    minor = version.rsplit(".", 1)[0]
    return {
        "bin/tenon": ("program", "", None),
        f"lib/libtenon.{version}.dylib": ("library", f"@rpath/libtenon.{minor}.dylib", committed("symbols.txt")),
        f"lib/libtenon-server.{version}.dylib": ("library", f"@rpath/libtenon-server.{minor}.dylib",
                                                 committed("server_symbols.txt")),
        "lib/tenon/libtenon-vulkan.dylib": ("library", "@rpath/libtenon-vulkan.dylib", {"_tenon_backend_entry"}),
    }


class Judge:
    def __init__(self, version):
        self.version, self.minor = version, version.rsplit(".", 1)[0]
        self.exports = {}  # (install name, processor) -> names

    def wrong_in(self, path, image, kind, install_name, exports):
        """Sentences about an image."""
        if image.kind != kind or image.install_name != install_name:
            yield f"is a {image.kind} named '{image.install_name}', not a {kind} named '{install_name}'"
        if kind == "library" and (image.version, image.compatibility) != (self.version, f"{self.minor}.0"):
            yield f"has the versions {image.version} and {image.compatibility}"
        if image.minimum != MINIMUM:
            yield f"asks for macOS {image.minimum}"
        if not image.flags & TWO_LEVEL or (kind == "program" and not image.flags & PIE):
            yield "has no namespace for each library, or a fixed address"
        for name, (protection, _, _) in image.segments.items():
            if protection & WRITABLE and protection & EXECUTABLE:
                yield f"segment {name} is writable and executable"
        for place in image.search_paths:
            if not re.fullmatch(r"@loader_path(/\.\.)*(/\w+)*/?", place):
                yield f"looks for libraries in {place}"
        for library in image.libraries:
            if library.name != SYSTEM and not self.is_found(path, image, library.name):
                yield f"needs {library.name}, which is neither the system's nor found in the folder"
        own = set(image.exports) - OF_THE_LINKER
        if exports is not None and own != exports:
            yield f"exports also {sorted(own - exports)} and lacks {sorted(exports - own)}"
        yield from self.wrong_symbols(image)
        if image.signature:
            try:
                if not check_signature(image):
                    yield "is signed by somebody"
            except MachOError as error:
                yield f"has a wrong signature: {error}"
        elif image.processor == "arm64":
            yield "has no signature, without which Apple's processors do not run it"

    def is_found(self, path, image, name):
        if not name.startswith("@rpath/"):
            return False
        places = [path.parent / place.removeprefix("@loader_path").strip("/") for place in image.search_paths]
        return any((place / name.removeprefix("@rpath/")).exists() for place in places)

    def wrong_symbols(self, image):
        for symbol in image.undefined:
            if PRIVATE.match(symbol.name):
                yield f"takes {symbol.name}, which is private"
            if SINCE_14_4.match(symbol.name) and not symbol.is_weak:
                yield f"takes {symbol.name}, which older systems lack"
            if not 0 < symbol.library <= len(image.libraries):
                yield f"does not say which library has {symbol.name}"
                continue
            library = image.libraries[symbol.library - 1].name
            known = self.exports.get((library, image.processor))
            if known is not None and symbol.name not in known:
                yield f"takes {symbol.name} of {library}, which does not export it"


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in PROCESSORS:
        sys.exit(__doc__)
    folder, processors = Path(sys.argv[1]), PROCESSORS[sys.argv[2]]
    places = [place.encode() for place in sys.argv[3:]]
    version = re.search(r"project\(tenon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    judge, expected = Judge(version), expected_files(version)
    wrong, found = [], {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            if path.is_symlink() and not path.exists():
                wrong.append(f"{path} leads nowhere")
            continue
        data, name = path.read_bytes(), str(path.relative_to(folder))
        wrong += [f"{path} holds {place.decode()}" for place in places if place in data]
        if not is_mach_o(data):
            continue
        try:
            found[name] = read_images(data)
        except MachOError as error:
            wrong.append(f"{path}: {error}")
    for images in found.values():
        for image in images:
            if image.install_name:
                judge.exports[image.install_name, image.processor] = set(image.exports)
    for name in sorted(set(found) - set(expected)):
        wrong.append(f"{folder} has {name}, which no package promises")
    for name, facts in expected.items():
        images = found.get(name, [])
        if sorted(image.processor for image in images) != processors:
            wrong.append(f"{name} is for {[image.processor for image in images]}, not for {processors}")
        for image in images:
            wrong += [f"{name}, {image.processor}: {sentence}"
                      for sentence in dict.fromkeys(judge.wrong_in(folder / name, image, *facts))]
    minor = version.rsplit(".", 1)[0]
    for name in (f"lib/libtenon.{minor}.dylib", "lib/libtenon.dylib", "include/tenon/tenon.h", "include/tenon/tenon.hpp",
                 "lib/pkgconfig/tenon.pc", "lib/cmake/tenon/tenon-config.cmake", "share/doc/tenon/LICENSE",
                 "share/doc/tenon/THIRD-PARTY.txt", "share/doc/tenon/libtenon.spdx.json"):
        if not (folder / name).exists():
            wrong.append(f"{folder} has no {name}")
    for sentence in wrong:
        print(sentence)
    sys.exit(f"FAILED: {len(wrong)} faults in {folder}" if wrong else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Tests cmake/packaging/mach_o.py and universal.py on images that are made here, byte by byte."""

import hashlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "cmake/packaging"))
from mach_o import MachOError, check_signature, read_images  # noqa: E402
from universal import join  # noqa: E402

PROCESSORS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}


def command(number, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<2I", number, 8 + len(body)) + body


def named(number, name, version, compatibility):
    return command(number, struct.pack("<4I", 24, 2, version, compatibility) + name + b"\0")


def dylib(processor, name=b"@rpath/libx.1.dylib"):
    """A library that exports _xa and _xb, and takes _gone weakly from the system's."""
    # A node: bytes of its fact (flags, address) or 0, number of children, label and place of each.
    trie = bytes([0, 1]) + b"_x\0" + bytes([6, 0, 2]) + b"a\0" + bytes([14]) + b"b\0" + bytes([18])
    trie += bytes(14 - len(trie)) + bytes([2, 0, 16, 0]) + bytes([2, 4, 32, 0])
    strings = b"\0_gone\0"
    symbol = struct.pack("<IBBHQ", 1, 1, 0, 1 << 8 | 0x40, 0)
    place = 1024

    def commands(end, signed):
        return [
            command(0x19, b"__TEXT".ljust(16, b"\0") + struct.pack("<4Q4I", 0, 4096, 0, end, 5, 5, 0, 0)),
            named(0x0D, name, 0x00010203, 0x00010000),
            named(0x0C, b"/usr/lib/libSystem.B.dylib", 0x05000000, 0x00010000),
            command(0x8000001C, struct.pack("<I", 12) + b"@loader_path\0"),
            command(0x32, struct.pack("<4I", 1, 0x000B0000, 0x000B0000, 0)),
            command(0x80000033, struct.pack("<2I", place, len(trie))),
            command(0x02, struct.pack("<4I", place + 64, 1, place + 96, len(strings))),
            command(0x1D, struct.pack("<2I", signed, 512)),
        ]
    signed = place + 128
    made = commands(signed + 512, signed)
    head = struct.pack("<8I", 0xFEEDFACF, *PROCESSORS[processor], 6, len(made), sum(map(len, made)), 0x85, 0)
    data = (head + b"".join(made)).ljust(place, b"\0") + trie.ljust(64, b"\0") + symbol.ljust(32, b"\0")
    data = (data + strings).ljust(signed, b"\0")
    return data + signature(data)


def signature(data):
    pages = [hashlib.sha256(data[at:at + 256]).digest() for at in range(0, len(data), 256)]
    directory = struct.pack(">9I4BI", 0xFADE0C02, 44 + 32 * len(pages), 0x20400, 2, 44, 0, 0, len(pages), len(data),
                            32, 2, 0, 8, 0) + b"".join(pages)
    return (struct.pack(">5I", 0xFADE0CC0, 20 + len(directory), 1, 0, 20) + directory).ljust(512, b"\0")


class MachO(unittest.TestCase):
    def test_facts(self):
        for processor in PROCESSORS:
            (image,) = read_images(dylib(processor))
            self.assertEqual((image.processor, image.kind, image.flags), (processor, "library", 0x85))
            self.assertEqual((image.install_name, image.version, image.compatibility),
                             ("@rpath/libx.1.dylib", "1.2.3", "1.0.0"))
            self.assertEqual([library.name for library in image.libraries], ["/usr/lib/libSystem.B.dylib"])
            self.assertEqual((image.search_paths, image.minimum), (["@loader_path"], "11.0.0"))
            self.assertEqual(image.exports, {"_xa": 0, "_xb": 4})
            self.assertEqual([(symbol.name, symbol.library, symbol.is_weak) for symbol in image.undefined],
                             [("_gone", 1, True)])
            self.assertEqual(image.segments["__TEXT"][0], 5)

    def test_signature(self):
        data = dylib("arm64")
        self.assertTrue(check_signature(read_images(data)[0]))
        for at in (0, 700, 1151):
            other = bytearray(data)
            other[at] ^= 0x40
            try:
                (image,) = read_images(bytes(other))
            except MachOError:
                continue
            with self.assertRaisesRegex(MachOError, "not what was signed", msg=str(at)):
                check_signature(image)

    def test_universal(self):
        images = [dylib("x86_64"), dylib("arm64")]
        data = join(images)
        self.assertEqual([image.data for image in read_images(data)], images)
        lipo = shutil.which("llvm-lipo") or shutil.which("llvm-lipo-14") or shutil.which("lipo")
        if lipo is None:
            self.skipTest("no lipo whose bytes are expected")
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("x86_64", "arm64")]
            for path, image in zip(paths, images):
                path.write_bytes(image)
            subprocess.run([lipo, "-create", *paths, "-output", f"{folder}/both"], check=True)
            self.assertEqual(Path(folder, "both").read_bytes(), data)

    def test_damaged(self):
        data = join([dylib("x86_64"), dylib("arm64")])
        for size in range(0, len(data) - 512, 61):
            with self.assertRaises(MachOError, msg=str(size)):
                read_images(data[:size])
        for whole in (dylib("arm64"), data):
            for at in range(min(len(whole), 1200)):
                other = bytearray(whole)
                other[at] ^= 0xFF
                try:
                    read_images(bytes(other))
                except MachOError:
                    pass  # and nothing else


if __name__ == "__main__":
    unittest.main()

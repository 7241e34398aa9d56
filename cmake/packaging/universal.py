#!/usr/bin/env python3
"""Makes one folder for Macs of both processors of two: each program and library holds both images.

    universal.py ARM64_FOLDER X86_64_FOLDER OUTPUT_FOLDER

The folders hold equal files but for those, and but for documents that name what is in a file (*.spdx.json); links stay
links. It is what lipo of Apple's tools does; signatures stay valid, as they are parts of the images."""

import shutil
import struct
import sys
from pathlib import Path

from mach_o import ALIGNMENT, FAT_MAGIC, is_mach_o, read_image


def join(images):
    """A universal file of the bytes of images, for one processor each."""
    head, body = FAT_MAGIC + struct.pack(">I", len(images)), b""
    for data in images:
        power = ALIGNMENT[read_image(data).processor]
        start = max(4096, 8 + 20 * len(images))
        offset = -(-(start + len(body)) // (1 << power)) * (1 << power)
        body += bytes(offset - start - len(body)) + data
        processor, subtype = struct.unpack_from("<2I", data, 4)
        head += struct.pack(">5I", processor, subtype, offset, len(data), power)
    return head + bytes(max(4096, len(head)) - len(head)) + body


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    first, second, output = (Path(word) for word in sys.argv[1:])
    names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder in (first, second)]
    if names[0] != names[1]:
        sys.exit(f"universal.py: only in one of them: {sorted(set(names[0]) ^ set(names[1]))}")
    shutil.copytree(first, output, symlinks=True)
    for name in names[0]:
        one, other = first / name, second / name
        if one.is_symlink() or one.is_dir():
            continue
        bytes_of_one, bytes_of_other = one.read_bytes(), other.read_bytes()
        if is_mach_o(bytes_of_one):
            (output / name).write_bytes(join([bytes_of_other, bytes_of_one]))
        elif bytes_of_one != bytes_of_other and not name.endswith(".spdx.json"):
            sys.exit(f"universal.py: {name} differs")


if __name__ == "__main__":
    main()

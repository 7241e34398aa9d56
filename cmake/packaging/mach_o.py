"""Reads Mach-O, the format of programs and libraries of macOS, as far as packages need it (<mach-o/loader.h>,
<mach-o/fat.h>; of signatures <kern/cs_blobs.h>). All files here are 64-bit and little-endian. Damaged files raise
MachOError."""

import hashlib
import struct
from dataclasses import dataclass, field

FAT_MAGIC = b"\xca\xfe\xba\xbe"
MAGIC = b"\xcf\xfa\xed\xfe"
PROCESSORS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
KINDS = {2: "program", 6: "library", 8: "bundle"}
# Distances of slices in universal files, as powers of two: pages of each processor.
ALIGNMENT = {"arm64": 14, "x86_64": 12}


class MachOError(Exception):
    pass


@dataclass
class Library:
    """A library that an image needs."""
    name: str
    version: str
    is_weak: bool


@dataclass
class Symbol:
    """A symbol that an image takes from a library: number `library` of its list, from 1."""
    name: str
    library: int
    is_weak: bool


@dataclass
class Image:
    """One processor's part of a file."""
    data: bytes
    processor: str = ""
    kind: str = ""
    flags: int = 0
    install_name: str = ""
    version: str = ""
    compatibility: str = ""
    libraries: list = field(default_factory=list)
    search_paths: list = field(default_factory=list)
    minimum: str = ""  # oldest macOS
    segments: dict = field(default_factory=dict)  # name -> (initial protection, file offset, file size)
    commands: list = field(default_factory=list)
    exports: dict = field(default_factory=dict)  # name -> flags
    undefined: list = field(default_factory=list)
    signature: tuple = ()  # (offset, size)


def version_text(number):
    major, minor, patch = number >> 16, number >> 8 & 255, number & 255
    return f"{major}.{minor}.{patch}"


def text_at(data, offset):
    end = data.find(b"\0", offset)
    return data[offset:end if end >= 0 else len(data)].decode()


def uleb(data, at):
    value, shift = 0, 0
    while True:
        if at >= len(data) or shift > 63:
            raise MachOError("a number does not end")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def read_exports(trie):
    """{name: flags} of an export trie."""
    found, waiting, seen = {}, [(0, b"")], set()
    while waiting and trie:
        at, name = waiting.pop()
        if at in seen:
            raise MachOError("the export trie has a loop")
        seen.add(at)
        size, at = uleb(trie, at)
        if size:
            found[name.decode()], _ = uleb(trie, at)
        at += size
        children, at = trie[at], at + 1
        for _ in range(children):
            end = trie.index(b"\0", at)
            label = trie[at:end]
            child, at = uleb(trie, end + 1)
            waiting.append((child, name + label))
    return found


def read_image(data):
    image = Image(data)
    if len(data) < 32 or data[:4] != MAGIC:
        raise MachOError("not a 64-bit Mach-O image")
    _, processor, _, kind, count, size, image.flags, _ = struct.unpack_from("<8I", data)
    image.processor, image.kind = PROCESSORS.get(processor, hex(processor)), KINDS.get(kind, str(kind))
    at, symbols = 32, None
    for _ in range(count):
        command, length = struct.unpack_from("<2I", data, at)
        if length < 8 or at + length > 32 + size:
            raise MachOError("a load command is too long")
        image.commands.append(command)
        words = struct.unpack_from(f"<{length // 4}I", data, at)
        if command == 0x19:  # LC_SEGMENT_64
            name = data[at + 8:at + 24].rstrip(b"\0").decode()
            offset, file_size, _, initial = struct.unpack_from("<QQII", data, at + 40)
            if offset + file_size > len(data):
                raise MachOError(f"segment {name} ends beyond the file")
            image.segments[name] = (initial, offset, file_size)
        elif command in (0x0C, 0x0D, 0x80000018, 0x8000001F):  # LC_LOAD_DYLIB, LC_ID_DYLIB, weak, re-exported
            name = text_at(data[:at + length], at + words[2])
            if command == 0x0D:
                image.install_name, image.version = name, version_text(words[4])
                image.compatibility = version_text(words[5])
            else:
                image.libraries.append(Library(name, version_text(words[5]), command == 0x80000018))
        elif command == 0x8000001C:  # LC_RPATH
            image.search_paths.append(text_at(data[:at + length], at + words[2]))
        elif command == 0x32:  # LC_BUILD_VERSION
            image.minimum = version_text(words[3])
        elif command == 0x24:  # LC_VERSION_MIN_MACOSX
            image.minimum = version_text(words[2])
        elif command in (0x22, 0x80000022):  # LC_DYLD_INFO
            image.exports = read_exports(data[words[10]:words[10] + words[11]])
        elif command == 0x80000033:  # LC_DYLD_EXPORTS_TRIE
            image.exports = read_exports(data[words[2]:words[2] + words[3]])
        elif command == 0x02:  # LC_SYMTAB
            symbols = words[2:6]
        elif command == 0x1D:  # LC_CODE_SIGNATURE
            image.signature = (words[2], words[3])
        at += length
    if symbols:
        table, number, strings, _ = symbols
        for i in range(number):
            name, kind, _, description, _ = struct.unpack_from("<IBBHQ", data, table + 16 * i)
            if kind & 0xE0 == 0 and kind & 0x0E == 0 and kind & 1:  # no stab, undefined, external
                image.undefined.append(Symbol(text_at(data, strings + name), description >> 8,
                                              description & 0x40 != 0))
    return image


def read_images(data):
    """Images of a file, universal or not."""
    try:
        return images_of(data)
    except (struct.error, IndexError, ValueError) as error:  # UnicodeDecodeError is one
        raise MachOError(f"ends early or holds nonsense: {error}") from error


def images_of(data):
    if data[:4] != FAT_MAGIC:
        return [read_image(data)]
    (count,) = struct.unpack_from(">I", data, 4)
    images = []
    for i in range(count):
        processor, _, offset, size, power = struct.unpack_from(">5I", data, 8 + 20 * i)
        if offset % (1 << power) or offset + size > len(data):
            raise MachOError("a slice lies at a wrong place")
        images.append(read_image(data[offset:offset + size]))
        if PROCESSORS.get(processor) != images[-1].processor:
            raise MachOError("a slice is of another processor than the list says")
    return images


def is_mach_o(data):
    return data[:4] in (MAGIC, FAT_MAGIC)


def check_signature(image):
    """Whether the signature is ad hoc, after comparing its hashes with the image's pages. Damaged ones raise."""
    start, size = image.signature
    blob = image.data[start:start + size]
    magic, _, count = struct.unpack_from(">3I", blob)
    if magic != 0xFADE0CC0:
        raise MachOError("the signature has another magic number")
    for i in range(count):
        kind, offset = struct.unpack_from(">2I", blob, 12 + 8 * i)
        if kind != 0:
            continue
        directory = blob[offset:]
        magic, _, _, flags, hashes, _, _, slots, limit = struct.unpack_from(">9I", directory)
        width, algorithm, _, power = struct.unpack_from(">4B", directory, 36)
        if magic != 0xFADE0C02 or algorithm != 2 or width != 32:
            raise MachOError("the signature is not of SHA-256")
        if limit != start or slots != (limit + (1 << power) - 1) >> power:
            raise MachOError("the signature does not cover the image")
        for slot in range(slots):
            page = image.data[slot << power:min((slot + 1) << power, limit)]
            if hashlib.sha256(page).digest() != directory[hashes + 32 * slot:hashes + 32 * slot + 32]:
                raise MachOError(f"page {slot} is not what was signed")
        return flags & 2 != 0
    raise MachOError("the signature has no code directory")

#!/usr/bin/env python3
"""What ELF files have of the hardening of a release build, read from the files themselves.
    elf_flags.py [--marked SYMBOL] FILE...
Of each file: position independent, an unexecutable stack, tables of addresses that are read-only and full at start,
no relocation in the code, no search path of others' folders, guards of the stack, and checked copies. With --marked
the code of SYMBOL begins as a target of indirect branches does."""

import re
import subprocess
import sys


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def code_of(path, symbol):
    """The first lines of the function, disassembled."""
    text = tool("objdump", "-d", "--no-show-raw-insn", f"--disassemble={symbol}", path)
    return [line.split("\t")[1] for line in text.splitlines() if line.count("\t") >= 1]


def faults(path, marked):
    header = tool("readelf", "-W", "-h", path)
    segments = tool("readelf", "-W", "-l", path)
    dynamic = tool("readelf", "-W", "-d", path)
    symbols = tool("readelf", "-W", "--dyn-syms", path)
    if not re.search(r"Type:\s+DYN", header):
        yield "is not position independent"
    stack = re.search(r"GNU_STACK\s.*", segments)
    if not stack or re.search(r"\bRWE\b", stack.group()):
        yield "has an executable stack"
    if "GNU_RELRO" not in segments:
        yield "has no segment that becomes read-only (relro)"
    if not re.search(r"BIND_NOW|\bNOW\b", dynamic):
        yield "resolves addresses late (no -z now)"
    if "TEXTREL" in dynamic:
        yield "has relocations in its code"
    for line in segments.splitlines():
        if re.match(r"\s*LOAD\s", line) and re.search(r"\bRWE\b", line):
            yield "has a segment that is writable and executable"
    if "__stack_chk_fail" not in symbols:
        yield "has no guards of the stack"
    if not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        yield "has no checked copies (_FORTIFY_SOURCE)"
    if marked:
        first = code_of(path, marked)[:1]
        if not first or not re.match(r"endbr64|bti|paciasp|hint", first[0]):
            yield f"{marked} begins with {first}, no target of indirect branches"


def main():
    arguments = sys.argv[1:]
    marked = ""
    if arguments[0] == "--marked":
        marked = arguments[1]
        arguments = arguments[2:]
    found = [f"{path}: {fault}" for path in arguments for fault in faults(path, marked)]
    if found:
        sys.exit("FAILED: " + "\n".join(found))
    print(f"{len(arguments)} files are hardened")


if __name__ == "__main__":
    main()

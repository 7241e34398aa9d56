#!/usr/bin/env python3
"""What the compiler gives each kernel of the plugin `cuda`, against the table kernel_resources.tsv.

  kernel_resources.py [--write] TABLE KERNELS.cu NVCC FLAG...

The table has a row for each kernel: bytes of shared memory whose size the kernel says, and registers of a thread by
architecture. The columns say which architectures are compiled.

Limits: nothing spills and nothing lies on a stack; no products of warpgroups (wgmma) are serialized; a kernel takes no more shared memory than the table has, and no
more registers, which are given out in eights. --write writes the table, where nothing spills.
Exits with 77, saying why, where there is no nvcc.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REGISTERS_AT_A_TIME = 8
# What ptxas says of an entry, some lines.
REPORT = re.compile(r"Compiling entry function 'tenon_(\w+)' for 'sm_(\w+)'.*?"
                    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                    r"Used (\d+) registers(?:[^\n]*?(\d+) bytes smem)?", re.DOTALL)


@dataclass
class Figures:
    """Of one kernel on one architecture; all but registers in bytes."""

    stack: int
    spill_stores: int
    spill_loads: int
    registers: int
    shared: int


def measured(command: list[str], kernels: str, architectures: list[str]) -> dict[str, dict[str, Figures]]:
    """[kernel][architecture], as ptxas says while it compiles."""
    for name in architectures:
        command = [*command, "-gencode", f"arch=compute_{name},code=sm_{name}"]
    with tempfile.TemporaryDirectory() as work:
        run = subprocess.run([*command, "-Xptxas", "-v", "-o", f"{work}/image", kernels],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        sys.exit(f"FAILED: nvcc says\n{run.stdout}")
    figures: dict[str, dict[str, Figures]] = {}
    for kernel, name, *numbers in REPORT.findall(run.stdout):
        figures.setdefault(kernel, {})[name] = Figures(*(int(number or 0) for number in numbers))
    serialized = re.findall(r"serialized[^\n]*in the function '(\w+)'", run.stdout)
    if serialized:
        sys.exit(f"FAILED: products of warpgroups are serialized in {', '.join(serialized)}")
    return figures


def read_table(path: Path) -> tuple[list[str], dict[str, list[int]]]:
    """Its architectures, and a row of numbers for each kernel: shared memory, then registers."""
    head, *rows = (line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#"))
    architectures = [name.removeprefix("sm_") for name in head[2:]]
    return architectures, {row[0]: [int(cell) for cell in row[1:]] for row in rows}


def write_table(path: Path, figures: dict[str, dict[str, Figures]], architectures: list[str], nvcc: str) -> None:
    said = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    version = re.search(r"V([\d.]+)", said)[1]
    lines = [f"# What nvcc {version} gives each kernel: bytes of shared memory, and registers of a thread.",
             "\t".join(["kernel", "shared", *(f"sm_{name}" for name in architectures)])]
    for kernel, of_kernel in sorted(figures.items()):
        shared = max(f.shared for f in of_kernel.values())
        lines.append("\t".join([kernel, str(shared), *(str(of_kernel[name].registers) for name in architectures)]))
    path.write_text("\n".join(lines) + "\n")


def spills(figures: dict[str, dict[str, Figures]]) -> list[str]:
    return [f"{kernel} on sm_{name}: {f.stack} bytes of stack, {f.spill_stores} spilled, {f.spill_loads} loaded back"
            for kernel, of_kernel in figures.items() for name, f in of_kernel.items()
            if f.stack + f.spill_stores + f.spill_loads > 0]


def excesses(figures: dict[str, dict[str, Figures]], rows: dict[str, list[int]], architectures: list[str]) -> list[str]:
    """What is over the table, and kernels that are on one side only."""
    found = [f"{kernel}: not in the table" for kernel in figures.keys() - rows.keys()]
    found += [f"{kernel}: in the table, and no kernel" for kernel in rows.keys() - figures.keys()]
    for kernel in figures.keys() & rows.keys():
        shared, *registers = rows[kernel]
        for name, limit in zip(architectures, registers, strict=True):
            f = figures[kernel][name]
            given_out = -(-limit // REGISTERS_AT_A_TIME) * REGISTERS_AT_A_TIME
            if f.registers > given_out:
                found.append(f"{kernel} on sm_{name}: {f.registers} registers, more than {given_out}")
            if f.shared > shared:
                found.append(f"{kernel} on sm_{name}: {f.shared} bytes of shared memory, more than {shared}")
    return sorted(found)


def main() -> None:
    arguments = sys.argv[1:]
    writes = arguments[0] == "--write"
    table, kernels, nvcc, *flags = arguments[1:] if writes else arguments
    if shutil.which(nvcc) is None:
        print("skipped: no nvcc in the PATH or in CUDA_HOME, and TENON_NVCC names none")
        sys.exit(77)
    architectures, rows = read_table(Path(table))
    figures = measured([nvcc, *flags], kernels, architectures)
    failures = spills(figures)
    if not writes:
        failures += excesses(figures, rows, architectures)
    if failures:
        sys.exit("\n".join(["FAILED:", *failures, "--write writes the table anew; its head says of which nvcc it is"]))
    if writes:
        write_table(Path(table), figures, architectures, nvcc)
    print(f"{len(figures)} kernels on {len(architectures)} architectures: nothing spills")


main()

"""python -m tenon: runs the program `tenon` with the same arguments."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the package's program, or by the system's."""
    bundled = Path(__file__).resolve().parent / "bin" / "tenon"
    program = str(bundled) if bundled.exists() else shutil.which("tenon")
    if program is None:
        sys.exit("python -m tenon: neither the package nor the system has the program tenon")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()

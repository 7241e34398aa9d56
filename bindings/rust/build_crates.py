#!/usr/bin/env python3
"""Builds the packages of the Rust binding, tenon-llm-sys-VERSION.crate and tenon-llm-VERSION.crate, with the licence.

    build_crates.py BUILD_FOLDER OUTPUT_FOLDER

The version is that of the library in the build folder, or it is refused. Needs cargo 1.90, which packs
crates that need one another, and a registry.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import names  # noqa: E402

CRATES = {names.CRATE_SYS: "tenon-sys", names.CRATE: "tenon"}  # name: folder


def version_of_library(build):
    text = (build / "CMakeCache.txt").read_text()
    return next(line.split("=", 1)[1] for line in text.splitlines()
                if line.startswith("CMAKE_PROJECT_VERSION:"))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    wanted = version_of_library(build)
    found = subprocess.run(["cargo", "metadata", "--no-deps", "--format-version=1", "--locked"], cwd=HERE,
                           check=True, capture_output=True, text=True).stdout
    versions = {package["name"]: package["version"] for package in json.loads(found)["packages"]}
    for crate in CRATES:
        if versions[crate] != wanted:
            sys.exit(f"{crate} is {versions[crate]}, the library {wanted}: run bindings/generate.sh {build}")
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("tenon*.crate"):
        old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        # Packed in a copy, so that the licence lies in each crate and the tree stays as it is.
        copy = Path(temporary) / "rust"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("dist", "target"))
        for folder in CRATES.values():
            shutil.copy(HERE.parent.parent / "LICENSE", copy / folder / "LICENSE")
        target = Path(temporary) / "target"
        subprocess.run(["cargo", "package", "--quiet", "--allow-dirty", "--no-verify", "--workspace"], cwd=copy,
                       check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
        for crate in CRATES:
            name = f"{crate}-{wanted}.crate"
            with tarfile.open(target / "package" / name) as package:
                for file in ("LICENSE", "README.md"):
                    package.getmember(f"{crate}-{wanted}/{file}")
            shutil.copy(target / "package" / name, output / name)
            print(output / name)


if __name__ == "__main__":
    main()

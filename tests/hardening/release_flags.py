#!/usr/bin/env python3
"""Every command of a release build that compiles or links has the flags of hardening. Configures one; builds nothing.
    release_flags.py SOURCE_FOLDER WORK_FOLDER CMAKE CC CXX"""

import re
import shutil
import subprocess
import sys

COMPILED = ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"]
LINKED = ["relro", "now", "noexecstack"]


def found(pattern, text):
    return re.search(pattern, text).group(1)


def main():
    source, work, cmake, cc, cxx = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run([cmake, "-S", source, "-B", work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTENON_TESTS=OFF",
                    "-DTENON_CCACHE=OFF", f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cxx}"],
                   check=True, capture_output=True, text=True)
    commands = subprocess.run(["ninja", "-C", work, "-t", "commands", "all"], check=True, capture_output=True,
                              text=True).stdout.splitlines()
    compiles = [c for c in commands if re.search(r" -c \S+\.(c|cc|cpp|cxx) *$| -c \S+\.(c|cpp)\b", c)]
    links = [c for c in commands if re.search(r"-o (bin|lib)/\S+", c) and " -c " not in c and "/ar " not in c]
    faults = []
    for command in compiles:
        missing = [flag for flag in COMPILED if flag not in command.split()]
        if not re.search(r"-fcf-protection=full|-mbranch-protection=standard", command):
            missing.append("protection of branches")
        if missing:
            faults.append(f"{found(' -c (.*)', command)} lacks {', '.join(missing)}")
    for command in links:
        given = ",".join(re.findall(r"-Wl,(\S+)", command)).split(",")
        missing = [flag for flag in LINKED if flag not in given]
        if missing:
            faults.append(f"{found(r'-o ([^ ]+)', command)} lacks {', '.join(missing)}")
    if faults:
        sys.exit("FAILED: " + "\n".join(faults))
    if len(compiles) < 50 or len(links) < 5:
        sys.exit(f"FAILED: only {len(compiles)} files are compiled and {len(links)} linked")
    shutil.rmtree(work)
    print(f"{len(compiles)} commands that compile and {len(links)} that link have the flags")


if __name__ == "__main__":
    main()

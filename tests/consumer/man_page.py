#!/usr/bin/env python3
"""The commands of the manual page are those that the program's own help lists, in its words.
    man_page.py PROGRAM PAGE"""

import re
import subprocess
import sys
from pathlib import Path


def main():
    program, page = sys.argv[1:]
    said = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    listed = [line for line in said.split("Subcommands:")[1].splitlines() if line.strip()]
    helped = [tuple(re.match(r"  (\S+) +(.*\S)", line).groups()) for line in listed]
    commands = Path(page).read_text(encoding="utf-8").split(".SH COMMANDS")[1].split(".SH ")[0]
    paged = [(name.replace("\\-", "-"), text.replace("\\-", "-"))
             for name, text in re.findall(r"^\.TP\n\.B (.*)\n(.*)$", commands, re.MULTILINE)]
    if not helped:
        sys.exit("the help lists no command")
    for command in helped:
        if command not in paged:
            print(f"missing in {page}, or in other words: {command[0]}: {command[1]}")
    for command in paged:
        if command not in helped:
            print(f"not in the help: {command[0]}: {command[1]}")
    if helped != paged:
        sys.exit("FAILED: the manual page and the help differ")
    print(f"{len(helped)} commands agree")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The names of the packages, each in one place: here. What is made when a package is built takes them from here; what
lies in the tree is written by this program.

    names.py            compares each place of the tree that names a package; status 1 where one says something else
    names.py --write    writes the names below into those places, after one of them was changed
    names.py NAME       prints one: NPM, GO_MODULE, ...

GO_MODULE and MAVEN_GROUP are placeholders until somebody owns a domain or an account for them: nobody can have a name
under `.invalid` (RFC 2606), so no registry brings a stranger's package in their place.
"""

import re
import sys
from pathlib import Path

PYPI = "tenon-llm"
NPM = "tenon-llm"
CRATE = "tenon-llm"
CRATE_SYS = "tenon-llm-sys"
GO_MODULE = "owner.invalid/tenon"
MAVEN_GROUP = "invalid.owner"

ROOT = Path(__file__).resolve().parent.parent

# Files, and how they name what the first group is. Every file of the glob without a match is passed over, but one must
# have one.
PLACES = [
    (PYPI, "bindings/python/**/*.py", r"pip install \"([a-z0-9-]+)\[(?:ray|dynamo)\]"),
    (PYPI, "bindings/python/README.md", r"The package is called `([^`]+)`"),
    (NPM, "bindings/node/package.json", r'^  "name": "([^"]+)"'),
    (NPM, "bindings/node/lib/platform.js", r"^const NAME = '([^']+)'"),
    (NPM, "bindings/node/**/*.*s", r"(?:\bfrom |\bimport |\brequire\(|resolve\(|\)\()'(tenon[^'/]*)(?:/ai-sdk)?'"),
    (NPM, "bindings/node/README.md", r"from '(tenon[^'/]*)(?:/ai-sdk)?'"),
    (NPM, "bench/many_requests/many.mjs", r"from '([^'./]+)'"),
    (CRATE, "bindings/rust/tenon/Cargo.toml", r'^name = "([^"]+)"\ndescription'),
    (CRATE, "bindings/rust/Cargo.lock", r'^name = "(tenon-(?!\S*sys)[^"]*)"'),
    (CRATE, "bindings/rust/README.md", r"^(\S+) = \{ path = \"[a-z-]+-[0-9.]+\" \}\n\[patch"),
    (CRATE, "bindings/rust/**/*.md", r"\]\(https://crates\.io/crates/([^)]+)\)"),
    (CRATE, "bench/many_requests/run.sh", r"^(\S+) = \{ path = "),
    (CRATE_SYS, "bindings/rust/tenon-sys/Cargo.toml", r'^name = "([^"]+)"\ndescription'),
    (CRATE_SYS, "bindings/rust/tenon/Cargo.toml", r'^(\S+)\.workspace = true\nfutures'),
    (CRATE_SYS, "bindings/rust/tenon/Cargo.toml", r'= \["([^/"]+)/(?:bundled|link|static)"\]'),
    (CRATE_SYS, "bindings/rust/Cargo.toml", r'^(\S+) = \{ path = "tenon-sys"'),
    (CRATE_SYS, "bindings/rust/Cargo.lock", r'^name = "(tenon-\S*sys)"'),
    (CRATE_SYS, "bindings/rust/README.md", r'^\[patch\.crates-io\]\n(\S+) ='),
    (GO_MODULE, "bindings/go/go.mod", r"^module (\S+)$"),
    (GO_MODULE, "bindings/go/examples/*/main.go", r'^\t"(\S*tenon)"$'),
    (GO_MODULE, "bindings/go/README.md", r'once `import "([^"]+)"`'),
    (GO_MODULE, "bindings/go/README.md", r"-require (\S+)@v0\.0\.0"),
    (GO_MODULE, "bindings/go/README.md", r"-replace (\S+)=\./tenon-go"),
    (GO_MODULE, "bindings/go/README.md", r"^The module is called `([^`]+)`"),
    (GO_MODULE, "bench/many_requests/many.go", r'^\t"(\S*tenon)"$'),
    (MAVEN_GROUP, "bindings/java/pom.xml", r"^  <groupId>([^<]+)</groupId>$"),
    (MAVEN_GROUP, "bindings/java/README.md", r"`([^`:]+):tenon(?:-langchain4j)?:[0-9.]+`"),
]


def files_of(pattern):
    return sorted(path for path in ROOT.glob(pattern) if path.is_file() and "dist" not in path.parts
                  and "target" not in path.parts and "node_modules" not in path.parts)


def differences(write=False):
    """Sentences about the places that say something else; with `write` those are written."""
    found = []
    for name, pattern, expression in PLACES:
        seen = 0
        for path in files_of(pattern):
            text = path.read_text(encoding="utf-8")

            def renamed(match, path=path):
                if match.group(1) != name:
                    found.append(f"{path.relative_to(ROOT)} says {match.group(1)}, not {name}")
                start, end = match.start(1) - match.start(), match.end(1) - match.start()
                return match.group()[:start] + name + match.group()[end:]

            changed, count = re.subn(expression, renamed, text, flags=re.MULTILINE)
            seen += count
            if write and changed != text:
                path.write_text(changed, encoding="utf-8")
        if not seen:
            found.append(f"{pattern} names no package by {expression}")
    return found


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 1 and arguments[0].isupper() and isinstance(globals().get(arguments[0]), str):
        print(globals()[arguments[0]])
        return
    if arguments not in ([], ["--write"]):
        sys.exit(__doc__)
    wrong = differences(write=bool(arguments))
    for sentence in wrong:
        print(sentence)
    if wrong and not arguments:
        sys.exit(f"FAILED: {len(wrong)} places; names.py --write writes them")


if __name__ == "__main__":
    main()

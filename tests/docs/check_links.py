"""Every relative link of every Markdown page leads to a file of the tree, and to a heading where it names one.
Prints the links that do not, as PAGE:LINE: LINK, and how many were followed.

    check_links.py ROOT
"""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
# A page named in backticks from the root: `docs/use/json.md`.
NAMED = re.compile(r"`((?:docs|bindings|examples|tests|bench|cmake)/[\w./-]+\.md)`")


def lines_outside_code(text):
    """(number, line) of the lines that are no part of a fenced or an indented block."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors(page):
    """The fragments that GitHub gives the headings of a page."""
    found = {}
    for _, line in lines_outside_code(page.read_text()):
        heading = re.match(r"#+ +(.*?) *$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {f"{name}-{again}" if again else name for name, last in found.items() for again in range(last + 1)}


def broken(root, page, link):
    """Why a link of a page leads nowhere; None if it does not."""
    path, _, fragment = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(root):
        return "leaves the tree"
    if not target.exists():
        return "no such file"
    if fragment and target.suffix == ".md" and fragment not in anchors(target):
        return "no such heading"
    return None


def pages(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = listed.stdout.split()
    else:  # an unpacked archive
        names = [str(path.relative_to(root)) for path in root.rglob("*.md")]
        names = [name for name in names if not name.startswith(("build", "."))]
    return [root / name for name in sorted(names) if (root / name).is_file()]


def main():
    root = Path(sys.argv[1]).resolve()
    followed = failed = 0
    for page in pages(root):
        for number, line in lines_outside_code(page.read_text()):
            links = [(a or b, page) for a, b in LINK.findall(line)]
            links += [(name, root / "page") for name in NAMED.findall(line)]
            for link, base in links:
                if re.match(r"[a-z]+:", link):
                    continue
                followed += 1
                reason = broken(root, base, link)
                if reason:
                    failed += 1
                    print(f"{page.relative_to(root)}:{number}: {link}: {reason}")
    print(f"{followed} links followed, {failed} broken")
    if failed or followed < 100:
        sys.exit(1)


main()

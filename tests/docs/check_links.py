"""Follows every relative link of every Markdown page: the file must be in the tree, and have the heading
that the link names. Prints broken links as PAGE:LINE: LINK: REASON, and how many were followed.

    check_links.py ROOT
"""

import re
import subprocess
import sys
from pathlib import Path

# The words of a link or a picture may span lines.
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A page named in backticks from the root: `docs/use/json.md`.
NAMED = re.compile(r"`((?:docs|bindings|examples|tests|bench|cmake)/[\w./-]+\.md)`")


def without_code(text):
    """The text with fenced and indented blocks made empty lines, so that line numbers stay."""
    kept, fenced = [], False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        kept.append("" if fenced or is_fence or line.startswith("    ") else line)
        fenced = fenced != is_fence
    return "\n".join(kept)


def anchors(page):
    """The fragments that GitHub gives the headings of a page."""
    found = {}
    for line in without_code(page.read_text()).split("\n"):
        heading = re.match(r"#+ +(.*?) *$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
        words = words.replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {f"{name}-{again}" if again else name
            for name, last in found.items() for again in range(last + 1)}


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
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True)
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
        text = without_code(page.read_text())
        links = [(match[1], page, match.start()) for match in LINK.finditer(text)]
        links += [(match[1], root / "page", match.start()) for match in NAMED.finditer(text)]
        for link, base, place in links:
            if re.match(r"[a-z]+:", link):
                continue
            followed += 1
            reason = broken(root, base, link)
            if reason:
                failed += 1
                line = text.count("\n", 0, place) + 1
                print(f"{page.relative_to(root)}:{line}: {link}: {reason}")
    print(f"{followed} links followed, {failed} broken")
    if failed or followed < 100:
        sys.exit(1)


main()

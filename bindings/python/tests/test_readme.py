"""The README's Python, run from top to bottom beside the demo model."""

import os
import re

from conftest import ROOT


def test_what_the_readme_shows_runs(capsys):
    text = (ROOT / "bindings/python/README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 5 and len(blocks[0].strip().split("\n")) <= 6
    before = os.getcwd()
    os.chdir(ROOT / "examples/models")
    try:
        exec(compile("\n".join(blocks), "README.md", "exec"), {})
    finally:
        os.chdir(before)
    said = capsys.readouterr().out
    assert "Oslo" in said.split("\n")[0] and said.rstrip().endswith("data: [DONE]")

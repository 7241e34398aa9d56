"""The programs of examples/, each in a process of its own with the demo model."""

import re
import subprocess
import sys

from conftest import DEMO, ROOT

FOLDER = ROOT / "bindings/python/examples"


def run(name, *arguments, typed=""):
    done = subprocess.run([sys.executable, str(FOLDER / name), str(DEMO), *arguments], input=typed, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_chat_answers_each_line():
    said = run("chat.py", typed="What is the capital of Norway?\nAnd hello.\n")
    assert said.count("> ") == 3 and "Oslo" in said


def test_json_by_schema():
    assert re.fullmatch(r".{0,16} is \d{1,3}\n", run("json_by_schema.py", "Anna is 34 years old."), re.S)


def test_tool_calls():
    assert "get_weather: 12 degrees and rain in " in run("tool_calls.py")


def test_semantic_search_finds_the_line_itself(tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text("The fox sleeps in the barn.\n\nShips sail at noon.\nBread is baked at night.\n")
    found = run("semantic_search.py", str(text), "Ships sail at noon.").splitlines()
    assert len(found) == 3 and found[0].endswith("Ships sail at noon.")


def test_many_requests():
    assert run("many_requests.py", "16").startswith(f"{16 * 24} tokens in ")

"""Every option comes to the library as it was given, whatever is made with it: name, kind and value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tenon
from conftest import DEMO

BINDINGS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(BINDINGS))
recording = pytest.importorskip("recording", reason="bindings/recording.py is not there")

PROGRAM = """
import json, os, sys
import tenon

tenon.use_library(sys.argv[1])
record = os.environ["TENON_RECORD"]
model = tenon.Model(sys.argv[2], threads=1)
engine = tenon.Engine(model)
# What takes options, by their scope.
ways = {
    "model": {"Model": lambda **given: tenon.Model("/nowhere/none.gguf", **given)},
    "session": {"model.session": model.session, "Session": lambda **given: tenon.Session(model, **given),
                "engine.open_session": engine.open_session},
    "engine": {"Engine": lambda **given: tenon.Engine(model, **given)},
    "chat": {"Chat": lambda **given: tenon.Chat(model, **given), "model.chat": model.chat},
    "embedder": {"Embedder": lambda **given: tenon.Embedder(model, **given)},
    "sampler": {"Sampler": tenon.Sampler,
                "generate": lambda **given: model.session().generate("x", max_tokens=1, **given).close(),
                "engine.stream": lambda **given: engine.stream("x", max_tokens=1, **given).close()},
}
found = []
for scope, name, value in json.load(sys.stdin):
    for way, make in ways[scope].items():
        open(record, "w").close()
        try:
            make(**{name: value})
        except tenon.Error:  # of a value that nothing can be done with; it was handed over
            pass
        found.append([way, name, open(record, encoding="utf-8").read().splitlines()])
json.dump(found, sys.stdout)
"""


def test_every_option_comes_to_the_library_as_it_was_given(tmp_path):
    library = recording.make(Path(tenon.library_path()), tmp_path)
    wanted = {name: lines for _, name, _, lines in recording.samples()}
    asked = [(scope, name, value) for scope, name, value, _ in recording.samples()]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(library), str(DEMO)], input=json.dumps(asked),
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "TENON_RECORD": str(tmp_path / "record")})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(wanted) >= 79 and {name for _, name, _ in found} == set(wanted)
    for way, name, lines in found:
        assert lines == wanted[name], way

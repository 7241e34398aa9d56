"""tenon.Hub and Model.from_hub, against a hub on loopback (tests/hub)."""

import ctypes
import sys
from pathlib import Path

import pytest
from conftest import DEMO, ROOT

import tenon
from tenon import _hub
from tenon._library import made_for

sys.path.insert(0, str(ROOT / "tests/hub"))
from lying_server import LyingHub  # noqa: E402


@pytest.fixture
def server():
    server = LyingHub({"demo-Q8_0.gguf": DEMO.read_bytes(), "notes.txt": b"x"})
    yield server
    server.close()


@pytest.fixture
def hub(server, tmp_path):
    with tenon.Hub(endpoint=server.endpoint, cache_folder=tmp_path / "hub", retry_seconds=0.01) as hub:
        yield hub


def test_a_model_by_its_name(hub, server):
    seen = []
    model = tenon.Model.from_hub("hf:owner/name:q8_0", hub=hub, on_pull=seen.append, threads=2)
    assert tenon.Chat(model).answer([{"role": "user", "content": "What is the capital of Norway?"}], temperature=0,
                                    max_tokens=24)["content"] == "The capital of Norway is Oslo."
    assert seen[-1].bytes_done == seen[-1].bytes_total == DEMO.stat().st_size
    asked = len(server.requests)
    tenon.Model.from_hub("hf:owner/name:q8_0", hub=hub, inspect=True)
    assert len(server.requests) == asked  # it is here


def test_list_find_and_remove(hub):
    with pytest.raises(tenon.StateError, match="is not in"):
        hub.find("hf:owner/name")
    pulled = hub.pull("hf:owner/name")
    assert hub.find("hf:owner/name") == pulled and [pulled.path] == [model.path for model in hub.list()]
    assert pulled.reference == "hf:owner/name:Q8_0" and pulled.is_whole and Path(pulled.path).exists()
    assert hub.remove("hf:owner/name") > 0 and hub.list() == []


def test_errors_are_those_of_the_library(hub):
    with pytest.raises(tenon.ArgumentError, match="no file or quantisation"):
        hub.pull("hf:owner/name:Q4_0")
    with pytest.raises(tenon.ArgumentError, match="hf:OWNER/NAME"):
        hub.find("demo.gguf")
    with pytest.raises(tenon.CancelledError):
        hub.pull("hf:owner/name", progress=lambda told: True)
    with pytest.raises(ZeroDivisionError):
        hub.pull("hf:owner/name", progress=lambda told: 1 // 0)
    with pytest.raises(TypeError, match="no option 'tokn'"):
        tenon.Hub(tokn="x")
    hub.cancel()
    with pytest.raises(tenon.CancelledError):
        hub.pull("hf:owner/name")
    hub.close()
    with pytest.raises(tenon.StateError, match="closed"):
        hub.list()


def test_what_the_environment_says(tmp_path):
    (tmp_path / "home/hf").mkdir(parents=True)
    (tmp_path / "home/hf/token").write_text("from file\n")
    told = _hub.options_of({"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "home/hf"), "HF_HUB_OFFLINE": "yes",
                            "HF_ENDPOINT": "http://mirror", "http_proxy": "http://p:1", "https_proxy": "http://q:2"})
    assert (told["token"], told["offline"], told["proxy"], told["endpoint"], told["cache_folder"]) == \
        ("from", True, "http://p:1", "http://mirror", f"{tmp_path}/home/hf/hub")
    assert _hub.options_of({"HF_TOKEN": "a", "HF_HUB_CACHE": "/c"})["token"] == "a"
    assert _hub.options_of({"HF_HUB_CACHE": "/c", "HF_HOME": "/d"})["cache_folder"] == "/c"
    assert _hub.options_of({"XDG_CACHE_HOME": "/x"})["cache_folder"] == "/x/huggingface/hub"
    assert _hub.options_of({"https_proxy": "http://q:2"})["proxy"] == "http://q:2"


def test_layouts_are_those_of_the_header():
    for name, described in made_for("_hub_made_for.json")["structs"].items():
        ours = _hub._STRUCTS[name]
        assert ctypes.sizeof(ours) == described["size"]
        for field, offset, size, _ in described["fields"]:
            assert (getattr(ours, field).offset, getattr(ours, field).size) == (offset, size), f"{name}.{field}"

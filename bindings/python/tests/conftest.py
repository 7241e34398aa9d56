"""The demo model for all tests. TENON_LIBRARY names a library in place of the package's own."""

import os
from pathlib import Path

import pytest

import tenon

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "examples/models/demo-q8_0.gguf"
ONCE = "Once upon a time"

if os.environ.get("TENON_LIBRARY"):
    tenon.use_library(os.environ["TENON_LIBRARY"])


@pytest.fixture(scope="session")
def model():
    return tenon.Model(DEMO, threads=2)


@pytest.fixture
def session(model):
    with tenon.Session(model) as session:
        yield session

"""bindings/scenarios.json: the behaviour that all bindings have in common."""

import json

import pytest
from run_scenarios import LIST, run

DATA = json.loads(LIST.read_text())


@pytest.mark.parametrize("scenario", DATA["scenarios"], ids=lambda scenario: scenario["name"])
def test_scenario(scenario):
    assert json.loads(json.dumps(run(scenario, DATA["model"]))) == scenario["expect"]

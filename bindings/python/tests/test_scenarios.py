"""bindings/scenarios.json: the behaviour that all bindings have in common."""

import json

import pytest
from run_scenarios import LIST, run

DATA = json.loads(LIST.read_text())


@pytest.mark.parametrize("scenario", DATA["scenarios"], ids=lambda scenario: scenario["name"])
def test_scenario(scenario):
    assert json.loads(json.dumps(run(scenario, DATA["model"]))) == scenario["expect"]


def test_each_scenario_has_a_name_of_its_own_and_says_what_it_shows():
    scenarios = DATA["scenarios"]
    assert len({scenario["name"] for scenario in scenarios}) == len(scenarios) >= 72
    for scenario in scenarios:
        assert scenario["shows"].endswith(".") and "\n" not in scenario["shows"], scenario["name"]

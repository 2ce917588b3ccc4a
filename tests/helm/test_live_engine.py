"""A real Prometheus scrapes real workers with a real search engine: its panels and rules have data, and an outage shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from helm.dashboards.querying import filled
from tests.data import ROOT
from tests.helm.expressions import RULES, Panel, Rule, panels, rules, selectors
from tests.helm.observed import VARIABLES, Observed, observed, soon
from workers.demo.papers import waves
from workers.devkit.broker import Broker
from workers.devkit.search_engine import SearchEngine

pytestmark = pytest.mark.full

EXAMPLES = ROOT / "examples"


class Watched(NamedTuple):
    """The running workers and their engine."""

    running: Observed
    engine: SearchEngine


@pytest.fixture(scope="module")
def watched(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder, works = tmp_path_factory.mktemp("watched"), EXAMPLES / "works.jsonl"
    with (
        SearchEngine.start() as engine,
        observed(
            broker.address, folder, works, engine=engine.urls, rules=RULES, idle_commit_s=0.2, engine_timeout_s=2
        ) as running,
    ):
        # Twice: a new counter has no rate before its first increase.
        for wave in waves(EXAMPLES / "papers") * 2:
            running.publish(wave)
        yield Watched(running, engine)


@pytest.mark.parametrize("panel", [panel for panel in panels() if panel.dashboard == "engine"], ids=str)
def test_a_panel_shows_data(watched: Watched, panel: Panel):
    expression = filled(panel.expression, VARIABLES)
    found = soon(lambda: watched.running.numbers(expression))
    assert found, expression
    for series in found:
        assert set(re.findall(r"{{(\w+)}}", panel.legend)) <= set(series["metric"]), "a legend would have a hole"


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.file == "engine"], ids=str)
def test_the_selectors_of_a_rule_have_data(watched: Watched, rule: Rule):
    queries = watched.running.prometheus.queries
    queries.instant(rule.expression)  # the whole expression must at least be valid
    for name, matchers in selectors(rule.expression):
        assert soon(lambda selector=f"{name}{matchers}": queries.instant(selector)), f"{rule.name}: no data"


def test_the_index_has_what_linkers_know(watched: Watched):
    def equal() -> list[float]:
        found = watched.running.numbers('reflink_catalog_offset{worker="linker"} - reflink_engine_offset{worker="linker"}')
        return [float(each["value"][1]) for each in found if float(each["value"][1]) == 0]

    assert soon(equal)


def test_an_outage_of_the_engine_shows_and_ends(watched: Watched):
    waiting = 'reflink_service_unavailable_seconds{worker="linker"} > 1'
    failures = 'increase(reflink_engine_failures_total{worker="linker"}[5m]) > 0'
    watched.engine.pause(0)
    try:
        watched.running.send(waves(EXAMPLES / "papers")[0])
        assert soon(lambda: watched.running.numbers(waiting))
        assert soon(lambda: watched.running.numbers(failures))
    finally:
        watched.engine.resume(0)
    watched.running.wait()
    assert soon(lambda: watched.running.numbers(waiting.replace("> 1", "== 0")))

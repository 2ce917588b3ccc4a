"""A real Prometheus scrapes real workers under the demo's load; every expression of every panel and rule has data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from helm.dashboards.querying import QueryFailed, filled
from schemas import LinkEvent
from tests.data import CACHE, ROOT
from tests.helm.expressions import RULES, Panel, Rule, panels, rules, selectors, without_comparisons, without_offsets
from tests.helm.observed import VARIABLES, Observed, observed, soon
from tests.kafka import read_all, send
from workers.config.settings import FallbackSettings, LinkerSettings
from workers.demo import catalogs
from workers.demo.papers import waves
from workers.devkit.broker import Broker

pytestmark = pytest.mark.full

EXAMPLES = ROOT / "examples"
#: The dashboard and the rules of a search engine: test_live_engine.py has a run with one.
ENGINE = "engine"
#: Panels that are empty in a correct run. Without its comparisons, their expression must have data.
EMPTY_PANELS = {
    "GPU memory in use": "no device: its memory is 0, and 0 of 0 is no share",
    "Without a snapshot": "both readers have one",
}
#: Selectors, by metric and a part of the matchers, without data in a run without faults: only the metric must exist.
ABSENT = {
    ("reflink_dead_letters_total", "reason!~"): "errors that are defects of the workers",
    ("reflink_open_transaction_seconds", "topic=~"): "ledgers that wait for a transaction in their own topics",
}


@pytest.fixture(scope="module")
def watched(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder, works = tmp_path_factory.mktemp("watched"), EXAMPLES / "works.jsonl"
    snapshot = catalogs.build(works, CACHE, LinkerSettings(), FallbackSettings())
    with observed(broker.address, folder, works, snapshot=snapshot, rules=RULES, idle_commit_s=0.2) as running:
        # Twice: a new counter has no rate before its first increase.
        for wave in waves(EXAMPLES / "papers") * 2:
            running.publish(wave)
        withdraw_a_cited_work(running)
        yield running


def withdraw_a_cited_work(running: Observed) -> None:
    """Withdraw a work, so that a link is withdrawn and its reference re-evaluated."""
    links = (LinkEvent.from_json(each.value) for each in read_all(running.kafka, "links") if each.value)
    cited = sorted({each.link.cited for each in links if each.link.cited is not None})
    send(running.kafka, "catalog", [(cited[0].encode(), None)])


@pytest.mark.parametrize("panel", [panel for panel in panels() if panel.dashboard != ENGINE], ids=str)
def test_a_panel_shows_data(watched: Observed, panel: Panel):
    # This Prometheus has no data of yesterday.
    expression = without_offsets(filled(panel.expression, VARIABLES))
    if panel.title in EMPTY_PANELS:
        assert not watched.numbers(expression), f"{panel.title} has data: take it off the list"
        found = soon(lambda: watched.prometheus.queries.instant(without_comparisons(expression)))
    else:
        found = soon(lambda: watched.numbers(expression))
    assert found, expression
    for series in found:
        assert set(re.findall(r"{{(\w+)}}", panel.legend)) <= set(series["metric"]), "a legend would have a hole"


def test_the_link_rate_of_a_panel_equals_that_of_the_workers(watched: Observed):
    expression = 'sum(reflink_outcomes_total{job="reflink", reason=""}) / sum(reflink_outcomes_total{job="reflink"})'

    def equal() -> list[dict[str, Any]]:
        done = sum(each.metrics().sum("reflink_outcomes_total", reason="") for each in watched.pipeline.processes)
        all_ = sum(each.metrics().sum("reflink_outcomes_total") for each in watched.pipeline.processes)
        return [each for each in watched.numbers(expression) if float(each["value"][1]) == pytest.approx(done / all_)]

    assert soon(equal), watched.numbers(expression)


#: Rules about the series of a load, which is a job: tests/workers/cli/test_loading.py has them from a real one.
PUSHED = "sources"


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.file not in (PUSHED, ENGINE)], ids=str)
def test_the_selectors_of_a_rule_have_data(watched: Observed, rule: Rule):
    queries = watched.prometheus.queries
    queries.instant(rule.expression)  # the whole expression must at least be valid
    names = queries.metadata()
    for name, matchers in selectors(rule.expression):
        selector = f"{name}{matchers}"
        if any(name == metric and part in matchers for metric, part in ABSENT):
            assert name in names, f"the workers have no metric {name}"
            assert not queries.instant(selector), f"{selector} has data: take it off the list"
        else:
            assert soon(lambda selector=selector: queries.instant(selector)), f"{rule.name}: no data for {selector}"


@pytest.mark.parametrize("rule", [each for each in rules() if not each.alert], ids=str)
def test_a_recording_rule_records(watched: Observed, rule: Rule):
    assert soon(lambda: watched.prometheus.queries.instant(rule.name)), rule.expression


def test_invalid_and_empty_expressions_fail(watched: Observed):
    """The tests above can fail."""
    with pytest.raises(QueryFailed, match="parse error"):
        watched.prometheus.queries.instant("sum(")
    assert not watched.numbers('reflink_records_in_total{topic="none"}')
    assert not watched.numbers("reflink_nothing_total")
    assert not watched.numbers("0 * up / 0"), "a share of nothing is no data"

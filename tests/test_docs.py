"""The generated reference pages equal the output of their commands and are complete."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.data import ROOT
from workers.cli.settings_page import metrics_page, settings_page
from workers.config.settings import FallbackSettings, LedgerSettings, LinkerSettings, ParserSettings
from workers.telemetry import load_metrics, metrics


@pytest.mark.parametrize(("name", "command", "page"), [
    ("configuration.md", "settings", settings_page),
    ("metrics.md", "metrics", metrics_page),
])  # fmt: skip
def test_generated_pages_are_current(name: str, command: str, page: Callable[[], str]):
    text = (ROOT / "docs" / name).read_text()
    assert text == page(), f"docs/{name} is out of date: run `reflink-worker {command} > docs/{name}`"


@pytest.mark.parametrize("model", [ParserSettings, LinkerSettings, FallbackSettings, LedgerSettings])
def test_every_setting_is_on_the_page_with_its_meaning(model: type):
    rows = re.findall(r"^\| `REFLINK_([A-Z_]+)` \| (.+?) \| (.+?) \| (.+) \|$", settings_page(), re.MULTILINE)
    described = {name.lower(): (kind, default, meaning) for name, kind, default, meaning in rows}
    for name in model.model_fields:
        assert name in described
        kind, default, meaning = described[name]
        assert not re.search(r"Optional|Literal|None|<class|SecretStr", kind + default)
        assert meaning.endswith((".", "`"))
    assert len(rows) == len({name for name, *_ in rows}) or "profile" in described


def test_secrets_are_named_and_never_shown():
    assert "| `REFLINK_KAFKA_SASL_PASSWORD` | secret | unset |" in settings_page()


def test_every_metric_is_on_the_page():
    page = metrics_page()
    modules = vars(metrics) | vars(load_metrics)
    declared = [name for name in modules if name.isupper() and not name.startswith("_") and name != "REGISTRY"]
    assert page.count("| `reflink_") == len(declared)
    assert "| `reflink_records_in_total` | counter | topic |" in page
    assert "| `reflink_lag_records` | gauge | topic, partition |" in page


@pytest.mark.parametrize("name", ["configuration.md", "metrics.md"])
def test_tables_have_all_cells(name: str):
    for line in (ROOT / "docs" / name).read_text().splitlines():
        if line.startswith("|"):
            assert line.count("|") == 5, line

"""Numbers as panels write them, and what pictures are made from; drawing needs matplotlib, which only those who draw have."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import helm.dashboards
from helm.dashboards import pictures
from helm.dashboards.notation import written
from helm.dashboards.pictures import Series, fetch, main
from reflink.entities import Work
from tests.helm.__main__ import LATE, OTHERS, catalog_of, chosen, due, held_back
from workers.local.ports import free_port


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        (0.0, "short", None, "0"),
        (1234.0, "short", 0, "1.23 K"),
        (265_158.0, "short", 1, "265 K"),
        (12.34, "suffix: /s", 1, "12.3 /s"),
        (2048.0, "bytes", None, "2 KiB"),
        (0.7512, "percentunit", 1, "75.1%"),
        (0.0, "s", None, "0 s"),
        (0.25, "s", None, "250 ms"),
        (90.0, "s", None, "1.5 min"),
        (200_000.0, "s", None, "2.31 d"),
        (float("nan"), "s", None, "no data"),
    ],
)
def test_a_number_is_written_with_its_unit(value: float, unit: str, decimals: int | None, text: str):
    assert written(value, unit, decimals) == text


class Answers:
    """Two series for whatever is asked."""

    def __init__(self, url: str = "") -> None:
        self.asked: list[tuple[Any, ...]] = []

    def over(self, *asked: Any) -> list[dict[str, Any]]:
        self.asked.append(asked)
        return [{"metric": {"worker": name}, "values": [[100.0, "1"], [160.0, "2.5"]]} for name in ("linker", "ledger")]

    def instant(self, *asked: Any) -> list[dict[str, Any]]:
        self.asked.append(asked)
        return [{"metric": {}, "value": [160.0, "7"]}]


def panel(kind: str, expression: str, legend: str) -> dict[str, Any]:
    return {"type": kind, "title": "A", "targets": [{"expr": expression, "legendFormat": legend}]}


def test_a_panel_is_asked_for_over_the_time_shown():
    answers: Any = Answers()
    found = fetch(panel("timeseries", 'rate(a{pod=~"$pod"}[$__rate_interval])', "{{worker}} of {{pod}}"), answers, 100.0, 220.0)
    assert answers.asked == [('rate(a{pod=~".*"}[30s])', 100.0, 220.0, 1.2)]
    assert found.series == (
        Series("linker of ", (0.0, 60.0), (1.0, 2.5)),
        Series("ledger of ", (0.0, 60.0), (1.0, 2.5)),
    )


def test_bars_are_asked_for_once_at_the_end():
    answers: Any = Answers()
    found = fetch(panel("bargauge", "a", "now"), answers, 100.0, 220.0)
    assert answers.asked == [("a", 220.0)]
    assert found.series == (Series("now", (60.0,), (7.0,)),)


def test_every_dashboard_becomes_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    drawn: dict[str, int] = {}

    def draw(title: str, panels: list[Any], seconds: float, path: Path) -> None:
        assert seconds == 120.0
        drawn[f"{title} {path.name}"] = len(panels)

    stub = SimpleNamespace(draw=draw)
    monkeypatch.setitem(sys.modules, "helm.dashboards.drawing", stub)
    monkeypatch.setattr(helm.dashboards, "drawing", stub, raising=False)
    monkeypatch.setattr(pictures, "Queries", Answers)
    document = {"title": "T", "panels": [{"type": "row", "title": "R"}, panel("stat", "a", "b")]}
    (tmp_path / "one.json").write_text(json.dumps(document))
    given = ["--prometheus", "http://nobody", "--dashboards", str(tmp_path), "--minutes", "2", "--until", "220"]
    assert main([*given, "--out", str(tmp_path)]) == 0
    assert drawn == {"T dashboard-one.svg": 2}


def test_a_prometheus_that_is_not_there_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setitem(sys.modules, "helm.dashboards.drawing", SimpleNamespace())
    monkeypatch.setattr(helm.dashboards, "drawing", SimpleNamespace(), raising=False)
    (tmp_path / "one.json").write_text(json.dumps({"title": "T", "panels": [panel("stat", "a", "b")]}))
    address = f"http://127.0.0.1:{free_port()}"
    assert main(["--prometheus", address, "--dashboards", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"no pictures: {address} does not answer")


def test_papers_come_four_times_as_fast_for_a_minute():
    times = list(due(6.0))
    assert times == sorted(times)
    assert [sum(low <= at < low + 60 for at in times) for low in range(0, 300, 60)] == [6, 6, 24, 6, 6]


def test_the_catalog_of_a_load_has_what_its_papers_cite_and_a_few_others(tmp_path: Path):
    papers = tmp_path / "papers"
    papers.mkdir()
    for number in range(4):
        (papers / f"{number}.xml").write_text(
            f"<article><back><ref-list><ref><mixed-citation>A. <pub-id pub-id-type='doi'>10.1000/{number}</pub-id>"
            "</mixed-citation></ref></ref-list></back></article>"
        )
    works = tmp_path / "works.jsonl"
    works.write_text(
        "".join(f'{{"id": "doi:10.1000/{n}", "ids": {{"doi": "10.1000/{n}"}}, "more": 1}}\n' for n in range(OTHERS + 1))
    )
    kept = chosen(papers, 2, tmp_path / "kept")
    assert [path.name for path in kept] == ["0.xml", "2.xml"]
    assert (tmp_path / "kept" / "2.xml").read_bytes() == kept[1].read_bytes()
    lines = catalog_of(kept, works, tmp_path / "catalog.jsonl").read_text().splitlines()
    assert [Work.from_json(line).id for line in lines] == ["doi:10.1000/0", "doi:10.1000/2", f"doi:10.1000/{OTHERS}"]
    assert not any("more" in line for line in lines)


def test_one_work_of_ten_comes_late(tmp_path: Path):
    works, late = tmp_path / "works.jsonl", tmp_path / "late.jsonl"
    works.write_text("".join(f"{number}\n" for number in range(2 * LATE + 1)))
    held_back(works, late)
    assert late.read_text().split() == ["0", str(LATE), str(2 * LATE)]
    assert len(works.read_text().split()) == 2 * LATE - 2

"""Pictures of dashboards: the fetched series, the drawn panels, and the load whose run they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helm.dashboards import pictures
from helm.dashboards.pictures import fetch, main, written
from reflink.entities import Work
from tests.data import ROOT
from tests.helm.__main__ import LATE, OTHERS, catalog_of, chosen, due, held_back
from workers.devkit.ports import free_port


@pytest.mark.parametrize(("value", "unit", "text"), [
    (0.0, "short", "0"),
    (265_158.0, "short", "265,158"),
    (12.34, "suffix: /s", "12.3 /s"),
    (2.0**21, "bytes", "2.0 MiB"),
    (0.7512, "percentunit", "75.1%"),
    (0.25, "s", "0.25 s"),
    (float("nan"), "s", "no data"),
])  # fmt: skip
def test_a_number_has_its_unit(value: float, unit: str, text: str):
    assert written(value, unit) == text


class Answers:
    """Two series for any query; the buckets of a histogram for a heatmap. The second value of each is infinite."""

    def __init__(self, url: str = "") -> None:
        self.queries: list[tuple[Any, ...]] = []

    def over(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        self.queries.append((expression, start, end, step))
        values = [[start, "1"], [start + step, "+Inf"], [end, "2.5"]]
        return [
            {"metric": {"worker": name, "le": le}, "values": values} for name, le in (("linker", "0.5"), ("ledger", "+Inf"))
        ]


def test_a_panel_shows_its_series_over_the_time_range():
    answers: Any = Answers()
    target = {"expr": 'rate(a{pod=~"$pod"}[$__rate_interval])', "legendFormat": "{{worker}} of {{pod}}"}
    found = fetch({"targets": [target]}, answers, 100.0, 220.0)
    assert answers.queries == [('rate(a{pod=~".*"}[30s])', 100.0, 220.0, 1.2)]
    assert [each.name for each in found] == ["ledger of ", "linker of "]
    for each in found:
        assert each.values[[0, -1]].tolist() == [1.0, 2.5]
        assert np.isnan(each.values[1:-1]).all()


def test_every_dashboard_becomes_a_picture_with_the_titles_of_its_panels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pictures, "Queries", Answers)
    assert main(["--prometheus", "http://nobody", "--minutes", "2", "--until", "220", "--out", str(tmp_path)]) == 0
    for path in (ROOT / "helm/reflink/dashboards").glob("*.json"):
        # matplotlib writes a comment with the text before each text.
        drawn = (tmp_path / f"dashboard-{path.stem}.svg").read_text()
        for panel in json.loads(path.read_text())["panels"]:
            assert panel["title"].partition(" & ")[0] in drawn


def test_a_panel_without_series_shows_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Answers, "over", lambda *_: [])
    document = {"title": "T", "panels": [{"type": "timeseries", "title": "A", "targets": [], "fieldConfig": {"defaults": {}}}]}
    document["panels"][0]["gridPos"] = {"w": 8, "h": 8}
    pictures.draw(document, Answers(), 220.0, 120.0, tmp_path / "one.svg")  # type: ignore[arg-type]
    assert "no data" in (tmp_path / "one.svg").read_text()


def test_a_prometheus_that_does_not_answer_is_reported_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    address = f"http://127.0.0.1:{free_port()}"
    assert main(["--prometheus", address, "--out", str(tmp_path)]) == 1
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

"""Figures of the tagger's fields in the form of the other sets."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchmarks.labels import fields
from benchmarks.labels.report import Table
from benchmarks.parsing.scoring import FIELDS, Case, Score, anystyle


def test_a_field_has_precision_recall_and_f1() -> None:
    found = fields.figures(Score(present=8, given=5, right=4), 10)
    assert (found["n"], found["present"], found["precision"], found["recall"]) == (10, 8, 0.8, 0.5)
    assert found["f1"] == pytest.approx(8 / 13)
    assert found["precision_interval"][0] < 0.8 < found["precision_interval"][1]
    assert fields.figures(Score(), 10)["precision"] is None


def test_rows_are_shown_like_those_of_links() -> None:
    text = "Huber AB, Sato C. Growth of ice crystals in cold clouds. J Clouds. 2001;4(2):17-25."
    truth = {**{name: set() for name in FIELDS}, "year": {"2001"}, "title": {"Growth of ice crystals in cold clouds"}}
    rows = fields.rows([Case(text, truth)])
    assert {"title", "year"} <= {row.part for row in rows}
    out = io.StringIO()
    Table(name="x", title="x", rows=rows, peers=(), notes=fields.NOTES).show(Console(file=out, width=200))
    assert "fields of the text" in out.getvalue()


def test_a_real_set_is_measured() -> None:
    anystyle()  # skips without the data
    rows = {row.part: row.figures for row in fields.table("anystyle", 40).rows}
    assert rows["title"]["n"] == 40
    assert rows["title"]["precision"] > 0.5

"""The benchmark of works on disk: its recombined works, and the command at a small size."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import harness
from benchmarks.catalog.records import main, recombined
from reflink.catalog.mapped import keys_of
from tests.data import ROOT

WORKS = ROOT / "examples" / "works.jsonl"


def test_recombined_works_have_distinct_ids_and_few_share_an_identifier() -> None:
    works = harness.works_of(WORKS)
    made = list(recombined(works, 3 * len(works)))
    assert made[: len(works)] == works
    assert len({work.id for work in made}) == len(made)
    keys = [key for work in made for key in keys_of(work)]
    own = [key for work in works for key in keys_of(work)]
    shared = (len(keys) - len({*keys})) - 3 * (len(own) - len({*own}))
    assert 0 < shared < len(made) / 25


def test_the_command_measures_real_and_recombined_works_and_a_table(tmp_path: Path) -> None:
    out, folder = tmp_path / "figures.json", tmp_path / "catalogs"
    folder.mkdir()
    main(["--works", str(WORKS), "--millions", "0.002", "--pairs", "0.003", "--folder", str(folder), "--json", str(out)])
    figures = json.loads(out.read_text())
    assert figures["real"]["works"] == len(harness.works_of(WORKS))
    assert sum(figures["real"]["bytes a work"].values()) < figures["real"]["bytes a work, plain lines and offsets"]
    written, table = figures["written"]
    assert written["works"] == 2000
    assert 0 < written["works with another canonical work"] < 100
    assert (table["pairs"], table["groups of equal hashes"]) == (3000, 0)
    assert not list(folder.iterdir())

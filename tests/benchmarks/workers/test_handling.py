"""The cost of the linker's stage without Kafka, on a small catalog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.workers import handling
from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from tests.data import find_shared_data


@pytest.mark.parametrize("first", ["none", "trigrams"])
def test_the_steps_of_handling_are_measured(first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if find_shared_data() is None:
        pytest.skip("the real articles are missing: set REFLINK_SHARED_DATA")
    catalog = Catalog.empty()
    catalog.add([Work(id="pmid:1", ids=Ids(pmid="1"), title="Soil fungi of the wet forest", year=2001)])
    catalog.save(tmp_path / "catalog")
    arguments = ["--snapshot", str(tmp_path / "catalog"), "--references", "40", "--rounds", "1", "--first", first]
    assert handling.main([*arguments, "--json", str(tmp_path / "figures.json")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {"decode", "verdict", "encode"} <= figures["steps"].keys()
    assert ("search" in figures["steps"]) == (first == "trigrams")
    assert figures["own"] == pytest.approx(sum(figures["steps"].values()) - figures["steps"].get("search", 0.0))
    assert "40 references, 1 works" in capsys.readouterr().out

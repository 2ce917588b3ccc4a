"""Tables of docs/accuracy.md from figures: printed, written in place of the old ones, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.accuracy.__main__ import main, replaced
from benchmarks.accuracy.tables import Table, of_evaluation, of_labels
from reflink.evaluation import run
from reflink.evaluation.vectors import CachedEncoder
from reflink.linking.policy import Policy
from tests.data import ROOT
from tests.reflink.evaluation.pubmed_files import written
from tests.reflink.evaluation.worldfiles import Hashed, small_world

LABELS = {
    "sets": {
        "a": {
            "rows": [{"asked": "linked", "part": "all", "n": 1200, "precision": 0.5, "precision_interval": [0.4, 0.6],
                      "recall": None, "f1": None, "false_link": None}],
            "peers": [{"name": "Peer", "where": "as published", "precision": 0.9, "recall": None, "f1": 0.95}],
        }
    }
}  # fmt: skip


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "default_encoder", lambda cache: CachedEncoder(Hashed(), cache))
        evaluation = run.evaluate(
            *small_world(folder), policy=Policy(), worlds=["closed", "open"], cache=folder / "cache", shares=True,
            fields_hidden=True, rule=True, modes=("T",), pubmed=written(folder),
        )  # fmt: skip
    path = folder / "figures.json"
    path.write_bytes(orjson.dumps(evaluation.to_dict()))
    return path


def heads(measured: dict[str, Any]) -> list[str]:
    return [table.markdown()[0] for table in of_evaluation(measured)]


def test_every_table_has_rows_and_columns_of_its_own(figures: Path) -> None:
    tables = list(of_evaluation(orjson.loads(figures.read_bytes())))
    assert len({tuple(table.head) for table in tables}) == len(tables) >= 6
    for table in tables:
        for cells in table.rows:
            assert len(cells) == len(table.head)
    sources = next(table for table in tables if table.head[0] == "source")
    assert [row[0] for row in sources.rows if row[1] == "all"] == [
        "articles", "articles, raw text only", "PubMed's lists", "PubMed's lists, known share", "mixture",
    ]  # fmt: skip


def test_the_page_has_each_table_of_a_whole_run_and_of_the_labels(figures: Path) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text("utf-8")
    for table in (*of_evaluation(orjson.loads(figures.read_bytes())), of_labels(LABELS)):
        assert replaced(page, table) is not None, table.head


def test_a_table_replaces_the_one_with_the_same_columns_only(figures: Path, tmp_path: Path) -> None:
    page, labels = tmp_path / "page.md", tmp_path / "labels.json"
    labels.write_bytes(orjson.dumps(LABELS))
    tables = of_evaluation(orjson.loads(figures.read_bytes()))
    old = [f"{table.markdown()[0]}\n|---|\n| stale |\nafter {n}\n" for n, table in enumerate(tables)]
    other = "| other | columns |\n|---|---|\n| kept | kept |\n"
    page.write_text(other + "\n".join(old) + "\n".join(of_labels(LABELS).markdown()[:1]), "utf-8")
    given = ["--figures", str(figures), "--labels", str(labels)]
    assert main([*given, "--check", str(page)]) == 1
    assert main([*given, "--write", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "stale" not in text
    assert text.startswith(other)
    assert "| a | linked; all | 1,200 | 50.00 [40.00, 60.00] |  |  |  |" in text
    assert all(f"after {n}" in text for n in range(len(old)))
    assert main([*given, "--check", str(page)]) == 0


def test_a_missing_table_is_reported(figures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing", "utf-8")
    assert main(["--figures", str(figures), "--write", str(page)]) == 1
    assert "missing: | minimum probability |" in capsys.readouterr().out
    assert page.read_text("utf-8") == "nothing"


def test_without_a_page_the_tables_are_printed(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--figures", str(figures)]) == 0
    out = capsys.readouterr().out
    for head in heads(orjson.loads(figures.read_bytes())):
        assert head in out


def test_words_are_left_and_numbers_right() -> None:
    assert Table(("a", "b"), [("x", "1")]).markdown() == ["| a | b |", "|---|--:|", "| x | 1 |"]

"""The commands ``evaluate sample`` and ``evaluate statistics``: draw, dialogue, resumption, tables and pictures."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import orjson
import pytest

from reflink.catalog import Catalog
from reflink.entities import Reference, Work
from tests.reflink.cli.conftest import Reflink


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[object, ...]:
    """Eight papers, each with three references, of which one has no link; the first link of a paper has another title."""
    works, references, links, contexts = [], [], [], []
    for paper in range(8):
        for n in range(3):
            name, title = f"p{paper}#{n}", f"Yields of crop {n} in year {1990 + paper}"
            work = Work(id=f"doi:10.1/{paper}.{n}", title=title, authors=("Li", "Wu"), year=1990 + paper, volume="3")
            cited = title if n else f"{title}: a reply"
            reference = Reference(
                id=name, citing=f"p{paper}", position=n + 1, title=cited, last_names=("Li",), year=1990 + paper, volume="4",
                raw_text=f"Li, Wu. {cited}",
            )  # fmt: skip
            works.append(work.to_json())
            references.append(reference.to_json())
            found = {"cited": work.id, "method": "lexical", "probability": 0.9} if n < 2 else {"cited": None}
            links.append(orjson.dumps({"reference": name, "citing": f"p{paper}", **found}))
            contexts.append(orjson.dumps({"reference": name, "contexts": [{}] * (n + 1)}))
    for name, lines in {"works": works, "references": references, "links": links, "contexts": contexts}.items():
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return (
        "evaluate", "sample", tmp_path / "links.jsonl", "--references", tmp_path / "references.jsonl", "--catalog",
        tmp_path / "works.jsonl",
    )  # fmt: skip


def press(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(keys) + "\n"))


def test_the_sample_is_read_and_its_accuracy_printed(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(monkeypatch, "rrbwcr")
    figures = tmp_path / "new" / "figures.json"
    answer = reflink(*inputs, "--size", 4, "--json", figures)
    assert answer.code == 0, answer.err
    # The second answer is taken back: right, wrong, unclear, right.
    found = orjson.loads(figures.read_bytes())
    assert (found["right"], found["wrong"], found["unclear"], found["unread"]) == (2, 1, 1, 0)
    verdicts = [orjson.loads(line) for line in (tmp_path / "links.jsonl.verdicts.jsonl").read_bytes().splitlines()]
    assert [each["verdict"] for each in verdicts] == ["right", "wrong", "unclear", "right"]
    for text in ("4 of 4", "as cited", "linked", "≠ 3", "= 199", "Wilson", "Jeffreys", "accuracy 0.6667", "wrong 0.5000"):
        assert text in answer.out, text


def test_the_verdicts_on_a_folder_named_by_a_dot_are_beside_it(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "exported"
    folder.mkdir()
    (tmp_path / "links.jsonl").rename(folder / "links.jsonl")
    monkeypatch.chdir(folder)
    press(monkeypatch, "r")
    answer = reflink(*inputs[:2], ".", *inputs[3:], "--size", 1)
    assert answer.code == 0, answer.err
    assert (tmp_path / "exported.verdicts.jsonl").exists()


def test_an_interrupted_dialogue_continues(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--size", 3, "--seed", 7, "--verdicts", tmp_path / "v")
    press(monkeypatch, "rq")
    assert "2 links left" in reflink(*inputs, *options).out
    press(monkeypatch, "xw")
    answer = reflink(*inputs, *options)
    assert "1 of 2" in answer.out
    assert "3 links: 1 right, 1 wrong, 0 unclear, 1 unread" in answer.out


def test_works_may_be_a_catalogs_folder(
    reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog.empty(lexical_mode=None)
    catalog.add([Work.from_json(line) for line in (tmp_path / "works.jsonl").read_bytes().splitlines()])
    catalog.save(tmp_path / "catalog")
    press(monkeypatch, "r")
    answer = reflink(*inputs[:-1], tmp_path / "catalog", "--size", 1)
    assert answer.code == 0, answer.err
    assert "= 199" in answer.out


def test_agreement_needs_no_person(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    answer = reflink(*inputs, "--agreement", "--json", figures)
    assert "only 16 links drawn: there are no others" in answer.err
    found = orjson.loads(figures.read_bytes())
    assert (found["links"], found["title"], found["authors"]) == (16, 0.5, 1.0)
    assert answer.out.count("titles disagree") == 8
    apart = reflink(*inputs, "--agreement", "--apart", "--size", 9)
    assert "only 8 links drawn: each other link shares a paper or a work" in apart.err
    assert apart.out.splitlines()[-3] == "8 links"


def test_what_is_missing_is_named(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    links, references = inputs[2], inputs[4]
    assert "no links" in reflink("evaluate", "sample", empty, *inputs[3:]).err
    assert "references of the sample are missing" in reflink(*inputs[:4], empty, *inputs[5:]).err
    assert "works of the sample are missing" in reflink(*inputs[:6], empty, "--agreement").err
    assert reflink("evaluate", "sample", links, "--references", references).code == 2
    assert "is not a number of links" in reflink(*inputs, "--size", "0").err


def test_statistics_are_printed_and_drawn(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    figures, pictures = tmp_path / "new" / "figures.json", tmp_path / "pictures"
    contexts = tmp_path / "contexts.jsonl"
    answer = reflink("evaluate", "statistics", inputs[2], "--contexts", contexts, "--json", figures, "--plot", pictures)
    assert answer.code == 0, answer.err
    found = orjson.loads(figures.read_bytes())
    assert (found["references"], found["linked"], found["papers"]) == (24, 16, 8)
    assert (found["citing"]["n"], found["citing"]["one"], found["contexts"]["sum"]) == (16, 16, 24)
    assert found["contexts_of_work"] == 1.5
    assert "16 linked (66.67%)" in answer.out
    for name in ("citing", "contexts"):
        assert b"<svg" in (pictures / f"{name}.svg").read_bytes()
    bare = reflink("evaluate", "statistics", inputs[2])
    assert "contexts" not in bare.out
    assert "citing papers per cited work" in bare.out


def test_statistics_of_an_export_have_its_contexts(reflink: Reflink, inputs: tuple[object, ...], tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    folder.mkdir()
    for name in ("links", "contexts"):
        (tmp_path / f"{name}.jsonl").rename(folder / f"{name}.jsonl")
    assert "24 citation contexts" in reflink("evaluate", "statistics", folder).out

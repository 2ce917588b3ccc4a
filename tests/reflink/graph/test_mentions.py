"""The format ``contexts`` joins the links with the mentions of their references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflink.graph import CONTEXTS
from reflink.graph.export import UNREADABLE, GraphExport
from tests.reflink.graph.test_export import GOOD

CITING = "doi:10.1/a"


def link(name: str, cited: str | None, version: int = 5) -> tuple[bytes, bytes]:
    reference = f"{CITING}#{name}.1"
    found = {"reference": reference, "citing": CITING, "cited": cited, "probability": 0.9}
    if cited is None:
        found["unresolved"] = "not-in-catalog"
    event = {**GOOD, "paper_version": version, "link": found}
    return reference.encode(), json.dumps(event).encode()


def contexts(name: str, *sentences: str, version: int = 5) -> tuple[bytes, bytes]:
    reference = f"{CITING}#{name}.1"
    event = {"schema_version": 1, "citing": CITING, "paper_version": version, "reference": reference}
    return reference.encode(), json.dumps({**event, "contexts": [{"sentence": each} for each in sentences]}).encode()


def exported(
    folder: Path, links: list[tuple[bytes, bytes]], mentions: list[tuple[bytes, bytes]]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    with GraphExport(folder, ["csv", CONTEXTS], places=("partition", "offset")) as graph:
        assert graph.contexts is not None
        for at, (key, value) in enumerate(links):
            graph.table.put(key, value, (0, at))
        for at, (key, value) in enumerate(mentions):
            graph.contexts.put(key, value, (0, at))
        manifest = graph.finish({})
    return [json.loads(line) for line in (folder / "contexts.jsonl").read_text().splitlines()], manifest


def test_each_mentioned_reference_has_its_mentions_and_its_link(tmp_path: Path):
    links = [link("b1", "pmid:7"), link("b2", None), link("b3", "pmid:8"), link("b4", "pmid:9")]
    mentions = [contexts("b1", "As shown.", "Again."), contexts("b2", "Unknown."), contexts("b3"), contexts("gone", "No link.")]
    lines, manifest = exported(tmp_path / "out", links, mentions)
    assert lines == [
        {"reference": f"{CITING}#b1.1", "citing": CITING, "cited": "pmid:7", "probability": 0.9,
         "contexts": [{"sentence": "As shown."}, {"sentence": "Again."}]},
        {"reference": f"{CITING}#b2.1", "citing": CITING, "cited": None, "unresolved": "not-in-catalog",
         "contexts": [{"sentence": "Unknown."}]},
    ]  # fmt: skip
    assert manifest["files"]["contexts.jsonl"]["rows"] == 2
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["citations.csv", "contexts.jsonl", "manifest.json"]


@pytest.mark.parametrize(("version", "written"), [(4, 0), (5, 1), (6, 1)])
def test_mentions_of_an_older_version_than_the_link_are_left_out(tmp_path: Path, version: int, written: int):
    lines, _ = exported(tmp_path / "out", [link("b1", "pmid:7")], [contexts("b1", "Text.", version=version)])
    assert len(lines) == written


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"contexts": 1, "paper_version": 1}', b'{"contexts": []}'])
def test_an_unreadable_event_is_recorded_and_the_link_is_written(tmp_path: Path, value: bytes):
    lines, manifest = exported(tmp_path / "out", [link("b1", "pmid:7")], [(f"{CITING}#b1.1".encode(), value)])
    assert (lines, manifest["unreadable"], manifest["linked"]) == ([], 1, 1)
    assert "topic contexts" in (tmp_path / "out" / UNREADABLE).read_text()

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.reflink.cli.conftest import PAPER, WORKS, Reflink

LINK = '<xref ref-type="bibr" rid="R1">1</xref>'
BODY = f"<body><sec><title>Methods</title><p>Before. We follow it [{LINK}]. After.</p></sec></body>"
FIRST, SECOND = "doi:10.1000/citing#R1.1", "doi:10.1000/citing#R2.1"


@pytest.fixture
def cited(tmp_path: Path) -> Path:
    path = tmp_path / "paper.xml"
    path.write_text(PAPER.replace("<back>", f"{BODY}<back>"))
    return path


def test_contexts_prints_a_line_of_json_for_each_reference(reflink: Reflink, cited: Path) -> None:
    answer = reflink("contexts", cited, "--json")
    assert answer.code == 0
    assert answer.json == [
        {
            "reference": FIRST, "citing": "doi:10.1000/citing", "position": 1, "contexts": [
                {
                    "section": ["Methods"], "paragraph": 1, "start": 22, "stop": 23, "marker": "1", "before": "Before.",
                    "sentence": "We follow it [1].", "sentence_start": 8, "after": "After.",
                    "text": "Before. We follow it MAINCIT . After.",
                },
            ],
        },
        {"reference": SECOND, "citing": "doi:10.1000/citing", "position": 2, "contexts": []},
    ]  # fmt: skip


def test_contexts_prints_the_sentences_of_each_reference(reflink: Reflink, cited: Path) -> None:
    answer = reflink("contexts", cited)
    assert "Methods ¶1: We follow it [1]." in answer.out
    assert answer.err == "reflink: 2 references, 1 mentioned, 1 contexts\n"


def test_contexts_are_joined_with_links_of_a_catalog_or_of_a_file(
    reflink: Reflink, cited: Path, catalog: Path, tmp_path: Path
) -> None:
    of_catalog = reflink("contexts", cited, "--catalog", catalog, "--json")
    links = tmp_path / "links.jsonl.gz"
    links.write_bytes(gzip.compress(reflink("link", cited, "--catalog", catalog, "--json").out.encode()))
    of_file = reflink("contexts", cited, "--links", links, "--json")
    assert of_catalog.json == of_file.json
    first, second = of_file.json
    assert first["link"]["cited"] == WORKS[0].id
    assert second["link"]["unresolved"]
    assert len(first["contexts"]) == 1
    assert f"→ {WORKS[0].id}" in reflink("contexts", cited, "--links", links).out


def test_contexts_of_a_paper_without_text(reflink: Reflink, paper: Path) -> None:
    answer = reflink("contexts", paper, "--json")
    assert answer.code == 0
    assert [line["contexts"] for line in answer.json] == [[], []]


def test_contexts_tells_once_that_a_file_has_no_text(reflink: Reflink, tmp_path: Path) -> None:
    part = PAPER[PAPER.index("<front>") : PAPER.rindex("</article>")].replace("10.1000/citing", "10.1000/part")
    part = f'<response id="x1">{part}</response>'
    for body, times in (("", 1), (BODY, 0)):
        path = tmp_path / "two.xml"
        path.write_text(PAPER.replace("<back>", f"{body}<back>").replace("</article>", f"{part}</article>"))
        answer = reflink("contexts", path)
        assert "4 references" in answer.err
        assert answer.err.count("no text") == times


def test_contexts_reports_unreadable_papers_and_links(reflink: Reflink, cited: Path, tmp_path: Path) -> None:
    answer = reflink("contexts", tmp_path / "absent.xml", cited, "--json")
    assert answer.code == 1
    assert len(answer.json) == 2
    links = tmp_path / "links.jsonl"
    links.write_text("{}\n")
    answer = reflink("contexts", cited, "--links", links)
    assert answer.code == 2
    assert f"{links}, line 1: " in answer.err
    assert reflink("contexts", cited, "--links", links, "--catalog", tmp_path).code == 2
    assert reflink("contexts", cited, "--links", tmp_path / "absent.jsonl").code == 2

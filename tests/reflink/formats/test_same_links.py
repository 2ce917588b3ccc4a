"""One paper in several formats has the same links: the examples, written in each format, against the examples' catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import orjson
import pytest

from reflink import jats
from reflink.catalog import Catalog
from reflink.entities import Paper, Reference, Work
from reflink.errors import NotAPaper
from reflink.formats import Content, format_named, format_of
from reflink.formats.format import Options
from reflink.linking.linker import Linker
from tests.data import ROOT
from tests.reflink.formats.rendering import PAPERS, RECORDS

EXAMPLES = ROOT / "examples"


@cache
def linker() -> Linker:
    catalog = Catalog.empty(lexical_mode="Raw")
    lines = (EXAMPLES / "works.jsonl").read_bytes().splitlines()
    catalog.add([Work.from_json(line) for line in lines])
    return Linker(catalog)


def papers() -> Iterator[Paper]:
    for path in sorted((EXAMPLES / "papers").rglob("*.xml")):
        try:
            yield jats.parse(path.read_bytes(), source=path.stem)
        except NotAPaper:
            continue


def links(references: Sequence[Reference]) -> list[str | None]:
    return [link.cited for link in linker().link(references)]


def expected() -> dict[str, str | None]:
    found: dict[str, str | None] = orjson.loads((EXAMPLES / "expected.json").read_bytes())["references"]
    return found


def again(data: bytes, name: str) -> Paper:
    content = Content(data, "a-paper")
    assert name == "text" or format_of(content).name == name  # a short list of laws looks like any text
    (parsed,) = format_named(name).parse(content, Options())
    return parsed.paper


def compared(name: str, data: bytes, references: Sequence[Reference]) -> tuple[list[str], int]:
    """Return the references whose link differs from that of JATS, and the number of references compared."""
    paper = again(data, name)
    if len(paper.references) != len(references):
        return [f"{len(paper.references)} references instead of {len(references)}: {data[:60]!r}"], len(references)
    pairs = zip(references, links(references), links(paper.references), strict=True)
    return [f"{each.id}: {ours} instead of {theirs}" for each, theirs, ours in pairs if ours != theirs], len(references)


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_has_the_same_links_in_each_format(name: str):
    wrong: list[str] = []
    count = 0
    for paper in papers():
        if paper.references and (paper.ids.doi or name != "crossref"):  # every work of Crossref has a DOI
            found, compared_now = compared(name, PAPERS[name](paper), paper.references)
            wrong += found
            count += compared_now
    assert count > 400
    assert wrong == []


@pytest.mark.parametrize("name", RECORDS)
def test_the_records_of_a_bibliography_have_the_same_links(name: str):
    wrong: list[str] = []
    count = 0
    for paper in papers():
        tagged = [each for each in paper.references if each.title and each.venue]
        if tagged:
            found, compared_now = compared(name, RECORDS[name](tagged), tagged)
            wrong += found
            count += compared_now
    assert count > 250
    assert wrong == []

"""The corpus of `make demo`: it parses as its README describes, and the library gives the outcomes in expected.json."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from reflink.catalog import Catalog
from reflink.entities import Link, Paper, Work
from reflink.errors import NotAPaper
from reflink.formats import Content, parse
from reflink.identifiers import normalise_arxiv, normalise_doi, normalise_pmcid, normalise_pmid
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.semantic import Encoder

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FOLDERS = ("1-first", "2-second")
EXPECTED = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))
OUTCOMES: dict[str, str | None] = EXPECTED["references"]
POISON = frozenset(EXPECTED["dead_letters"])
FILES = {path.name: path for folder in FOLDERS for path in sorted((EXAMPLES / "papers" / folder).iterdir())}
SOUND = [name for name in FILES if name not in POISON]


def content(name: str) -> bytes:
    data = FILES[name].read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


@cache
def papers(name: str) -> tuple[Paper, ...]:
    """Return the papers of a file: an article, and its sub-articles with a DOI."""
    return tuple(each.paper for each in parse(Content(content(name), name)))


def paper(name: str) -> Paper:
    return papers(name)[0]


@cache
def works() -> tuple[Work, ...]:
    with (EXAMPLES / "works.jsonl").open(encoding="utf-8") as lines:
        return tuple(Work.from_json(line) for line in lines)


def cited_by(citing: str) -> dict[str, str | None]:
    return {reference: cited for reference, cited in OUTCOMES.items() if reference.partition("#")[0] == citing}


def own_works(folder: str) -> list[Work]:
    return [each.work() for name in SOUND if FILES[name].parent.name == folder for each in papers(name)]


@pytest.mark.parametrize("name", SOUND)
def test_a_paper_has_the_expected_references_and_all_fields(name: str) -> None:
    parsed = paper(name)
    for each in papers(name):
        assert [reference.id for reference in each.references] == list(cited_by(each.id))
    fields = ("title", "authors", "venue", "year", "volume", "fpage", "abstract", "language")
    assert not [field for field in fields if not getattr(parsed, field)]


@pytest.mark.parametrize("name", sorted(POISON))
def test_poison_is_not_a_paper(name: str) -> None:
    with pytest.raises(NotAPaper):
        parse(Content(content(name)))


def test_only_the_broken_file_is_read_with_a_warning() -> None:
    assert [name for name in SOUND if paper(name).warnings] == ["23-not-well-formed-wheat-zinc.xml"]


def test_the_xml_has_the_documented_oddities() -> None:
    assert content("21-byte-order-mark-cosmology.xml").startswith(b"\xef\xbb\xbf")
    assert b"&eacute;" in content("12-revue-entites-non-definies.xml")
    assert b"<!DOCTYPE" not in content("12-revue-entites-non-definies.xml")
    odd = content("31-characters-phenotyping.xml").decode()
    assert all(character in odd for character in ("\u2010", "\ufb01", "\ufffd", "β", "â€“"))
    doctypes = {line for name in SOUND for line in content(name).decode().splitlines() if line.startswith("<!DOCTYPE")}
    versions = ("2.3", "3.0", "1.0", "1.1", "1.2", "1.3", "1.4")
    assert [version for version in versions if not any(f"v{version} " in line for line in doctypes)] == []


def test_every_expectation_belongs_to_a_reference() -> None:
    assert {citing.partition("#")[0] for citing in OUTCOMES} == {each.id for name in SOUND for each in papers(name)}


def test_works_are_named_once_and_by_their_identifiers() -> None:
    ids = [work.id for work in works()]
    assert len(ids) == len(set(ids))
    assert all(work.title and work.authors and work.venue and work.year for work in works())
    assert all(work.ids.keys()[0] == work.id for work in works() if work.ids.keys())
    normalise = {"doi": normalise_doi, "pmid": normalise_pmid, "pmcid": normalise_pmcid, "arxiv": normalise_arxiv}
    given = [(kind, value) for work in works() for kind, value in work.ids.to_dict().items()]
    assert [(kind, value) for kind, value in given if normalise[kind](value) != value] == []


def test_targets_are_known_and_canonical() -> None:
    known = [*works(), *own_works("1-first")]
    bearers: dict[str, set[str]] = {}
    for work in known:
        for key in (work.id, *work.ids.keys()):
            bearers.setdefault(key, set()).add(work.id)
    smallest = {work.id: min(min(bearers[key]) for key in (work.id, *work.ids.keys())) for work in known}
    targets = {cited for cited in OUTCOMES.values() if cited is not None}
    assert targets <= set(smallest)
    assert {cited for cited in targets if smallest[cited] != cited} == set()
    assert [work for work, canonical in smallest.items() if work != canonical] == ["pmid:14907713"]


def test_the_first_papers_cite_no_other_paper_of_the_corpus() -> None:
    own = {work.id for folder in FOLDERS for work in own_works(folder)}
    within = {(reference.partition("#")[0], cited) for reference, cited in OUTCOMES.items() if cited in own}
    first = {work.id for work in own_works("1-first")}
    assert {pair for pair in within if pair[0] in first} == {("doi:10.5555/reflink.1019", "doi:10.5555/reflink.1019")}
    assert {cited for citing, cited in within if citing not in first} <= first


def test_the_readme_has_the_number_of_references_and_links() -> None:
    rows = {}
    for line in (EXAMPLES / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if cells[0] in FILES:
            rows[cells[0]] = tuple(cells[3:5])
    counts = {name: {key: cited for each in papers(name) for key, cited in cited_by(each.id).items()} for name in SOUND}
    linked = {name: sum(cited is not None for cited in outcomes.values()) for name, outcomes in counts.items()}
    assert {name: rows[name] for name in SOUND} == {name: (str(len(counts[name])), str(linked[name])) for name in SOUND}
    assert set(rows) == set(FILES)


@pytest.fixture(scope="module")
def links() -> dict[str, Link]:
    """Links of all papers by the library in the profile production; the catalog contains the works and the first papers."""
    encoder = Encoder()
    catalog = Catalog.empty(dim=encoder.dim, model=encoder.name, precision=encoder.precision)
    catalog.add_encoded([*works(), *own_works("1-first")], encoder)
    references = [reference for name in SOUND for each in papers(name) for reference in each.references]
    return {link.reference: link for link in Linker(catalog, encoder, Policy(profile="production")).link(references)}


def test_the_library_gives_the_expected_outcomes(links: dict[str, Link]) -> None:
    wrong = {
        reference: {"expected": cited, "got": links[reference].cited, "probability": links[reference].probability}
        for reference, cited in OUTCOMES.items()
        if links[reference].cited != cited
    }
    assert wrong == {}


def test_links_come_by_every_method(links: dict[str, Link]) -> None:
    assert {link.method for link in links.values() if link.cited} == {"identifier", "place", "semantic", "lexical"}


def test_retracted_works_are_linked_with_their_status(links: dict[str, Link]) -> None:
    retracted = {work.id for work in works() if work.status == "retracted"}
    found = {link.cited: link.status for link in links.values() if link.cited in retracted}
    assert found == dict.fromkeys(retracted, "retracted")

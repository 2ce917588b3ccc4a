"""Bibliographies without a text: CSL-JSON, BibTeX, RIS and MEDLINE text."""

import json
import sys
from typing import Any

import pytest

from reflink.errors import NotAPaper, PackageMissing, TooLarge
from reflink.formats import Content, Options, parse
from reflink.limits import Limits
from tests.reflink.formats.reading import fields, parsed, recognising
from tests.reflink.formats.samples import sample, samples

ITEM: dict[str, Any] = {
    "id": "doe2020", "type": "article-journal", "title": "On <i>tests</i>", "DOI": "10.5555/X", "container-title": "Journal",
    "author": [{"family": "Berg", "given": "Lena", "non-dropping-particle": "van"}, {"literal": "The ABC Group"}],
    "editor": [{"family": "Roe", "given": "K."}], "issued": {"date-parts": [[2020, 1]]}, "page": "1013-9", "volume": 5,
    "issue": "2", "publisher": "Press",
}  # fmt: skip
BIB = r"""% a comment with an address, someone@article.org
@string{jt = "Journal of Tests"}
@article{doe:20,
  author = {Doe, Jane and van der Berg, L. and {The ABC Consortium}}, title = {On {T}ests in M{\"u}nchen},
  journal = jt, year = 2020, volume = {5}, number = {2}, pages = {1013--19}, doi = {10.5555/X}, eprint = {1706.03762},
  archiveprefix = {arXiv}
}
@inproceedings{roe, author = {Roe, K.}, title = {A talk}, crossref = {conf}, pages = {1--2}}
@proceedings{conf, title = {Proceedings of Things}, editor = {Poe, E.}, year = {1999}, publisher = {Press}}
@article{hep, author = {Poe, E.}, journal = {Phys. Lett. B}, volume = {234}, pages = {1}, year = {1990}}
"""
RIS = """TY  - CHAP
ID  - key1
AU  - Doe, Jane
A1  - ignored
TI  - A chapter
T2  - A book
ED  - Roe, K.
PY  - 2001/02//
SP  - 10
EP  - 19
PB  - Press
DO  - 10.5555/X
ER  -

TY  - JFULL
TI  - A journal
ER  -
"""
MEDLINE = """
PMID- 123
OWN - NLM
TI  - On tests.
FAU - Doe, Jane
CN  - The ABC Group
JT  - Journal of tests
DP  - 2020 Jan
VI  - 5
PG  - 1013-9
LID - 10.5555/x [doi]

PMID- 124
TI  - Another
"""  # fmt: skip


def test_an_item_of_csl():
    assert fields(json.dumps([ITEM])) == [{
        "xml_id": "doe2020", "kind": "article-journal", "title": "On tests", "venue": "Journal", "last_names": ["van Berg"],
        "given_names": ["Lena"], "collab": "The ABC Group", "collectives": ["The ABC Group"], "editors": ["Roe"], "year": 2020,
        "volume": "5", "issue": "2", "first_page": "1013", "last_page": "1019", "publisher": "Press",
        "ids": {"doi": "10.5555/x"},
    }]  # fmt: skip


@pytest.mark.parametrize("shape", [lambda item: item, lambda item: [item], lambda item: {"items": [item]}])
def test_the_shapes_of_csl(shape: Any):
    data = json.dumps(shape(ITEM)).encode()
    assert recognising(data) == ["csl"]
    assert [each["title"] for each in fields(data)] == ["On tests"]


@pytest.mark.parametrize(
    "value",
    [
        {**ITEM, "title": ["On tests"]},
        {**ITEM, "reference": [], "reference-count": 0},
        {"paper_id": "1", "title": "x", "bib_entries": {}},
        {"data": [{"citedPaper": {"title": "x"}}]},
        [],
        [1],
        {"type": "FeatureCollection", "title": "x"},
    ],
)
def test_other_json_is_not_csl(value: Any):
    assert "csl" not in recognising(json.dumps(value).encode())


def test_an_item_without_title_is_kept():
    data = json.dumps([{"id": 1, "type": "article-journal", "container-title": "Phys. Lett. B", "volume": "234", "page": "1"}])
    assert fields(data) == [
        {"xml_id": "1", "kind": "article-journal", "venue": "Phys. Lett. B", "volume": "234", "first_page": "1"}
    ]


def test_entries_of_bibtex():
    pytest.importorskip("pybtex")
    article, talk, proceedings, untitled = fields(BIB)
    assert article == {
        "xml_id": "doe:20", "kind": "article", "title": "On Tests in München", "venue": "Journal of Tests",
        "last_names": ["Doe", "van der Berg"], "given_names": ["Jane", "L."], "collab": "The ABC Consortium",
        "collectives": ["The ABC Consortium"], "year": 2020, "volume": "5", "issue": "2", "first_page": "1013",
        "last_page": "1019", "ids": {"doi": "10.5555/x", "arxiv": "1706.03762"},
    }  # fmt: skip
    assert talk == {
        "xml_id": "roe", "kind": "inproceedings", "title": "A talk", "venue": "Proceedings of Things", "last_names": ["Roe"],
        "given_names": ["K."], "editors": ["Poe"], "year": 1999, "publisher": "Press", "first_page": "1", "last_page": "2",
    }  # fmt: skip
    assert (proceedings["xml_id"], proceedings["editors"]) == ("conf", ["Poe"])
    assert untitled == {
        "xml_id": "hep", "kind": "article", "venue": "Phys. Lett. B", "last_names": ["Poe"], "given_names": ["E."],
        "year": 1990, "volume": "234", "first_page": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "ids"),
    [
        ("url = {https://doi.org/10.5555/ABC}", {"doi": "10.5555/abc"}),
        ("howpublished = {\\url{http://arxiv.org/abs/1706.03762v2}}", {"arxiv": "1706.03762"}),
        ("eprint = {hep-th/9711200}", {"arxiv": "hep-th/9711200"}),
        ("eprint = {12345}, eprinttype = {jstor}", None),
        ("url = {https://example.org/a}", None),
    ],
)
def test_identifiers_of_addresses(field: str, ids: dict[str, str] | None):
    pytest.importorskip("pybtex")
    (found,) = fields(f"@misc{{a, title = {{x}}, {field}}}")
    assert found.get("ids") == ids


def test_an_identifier_field_precedes_the_address():
    item = {**ITEM, "URL": "https://doi.org/10.5555/other"}
    assert [each["ids"] for each in fields(json.dumps([item]))] == [{"doi": "10.5555/x"}]


def test_a_broken_entry_costs_only_itself():
    pytest.importorskip("pybtex")
    (one,) = parsed("@article{a, title = {One}}\n@article{b, title = \n@article{c, title = {Three}}\n", source="refs")
    assert [each.xml_id for each in one.paper.references] == ["a", "c"]
    assert "line 2" in one.paper.warnings[0]
    assert one.paper.id == "refs"
    with pytest.raises(NotAPaper):
        parsed("@article{b, title = \n")


def test_bibtex_needs_its_package(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pybtex.database.input", None)
    with pytest.raises(PackageMissing, match="reflink-stream"):
        parsed(BIB)


@pytest.mark.parametrize(
    ("text", "is_bibtex"),
    [
        ("@article{a,\n title = {x}}", True),
        (" @ARTICLE ( a, title = {x})", True),
        ("exported by a tool\n\n@Misc{a,\n}", True),
        ("\\documentclass{article}\n\\begin{filecontents}\n@article{a, title={x}}\n", False),
        ("\\bibitem{a} x\n@article{a, title={x}}", False),
        ("write to someone\n@article.org", False),
        ("@string{a = {b}}", False),
    ],
)
def test_what_bibtex_is(text: str, is_bibtex: bool):
    assert ("bibtex" in recognising(text.encode())) is is_bibtex


def test_records_of_ris():
    chapter, journal = fields(RIS)
    assert chapter == {
        "xml_id": "key1", "kind": "CHAP", "title": "A chapter", "venue": "A book", "last_names": ["Doe"],
        "given_names": ["Jane"], "editors": ["Roe"], "year": 2001, "first_page": "10", "last_page": "19", "publisher": "Press",
        "ids": {"doi": "10.5555/x"},
    }  # fmt: skip
    assert journal == {"kind": "JFULL", "title": "A journal"}


def test_records_of_medline_text():
    first, second = fields(MEDLINE)
    assert first == {
        "xml_id": "123", "title": "On tests.", "venue": "Journal of tests", "last_names": ["Doe"], "given_names": ["Jane"],
        "collab": "The ABC Group", "collectives": ["The ABC Group"], "year": 2020, "volume": "5", "first_page": "1013",
        "last_page": "1019", "ids": {"doi": "10.5555/x", "pmid": "123"},
    }  # fmt: skip
    assert (second["xml_id"], second["title"]) == ("124", "Another")


@pytest.mark.parametrize(
    ("text", "is_ris"),
    [
        ("\ufeffTY  - JOUR\nTI  - x\n", True),
        ("Record 1 of 2\r\nTY -  BOOK\r\nT1  - x\r\n", True),
        ("\nOWN - ERIC\nTI  - x\n", True),
        ("TY  - JOUR of something\n\nand text", False),
        ("PARTY - JOUR\nTI  - x\n", False),
    ],
)
def test_what_ris_is(text: str, is_ris: bool):
    assert ("ris" in recognising(text.encode())) is is_ris


def test_records_of_eric_are_divided_at_empty_lines():
    text = "OWN - ERIC\nTI  - One\nAU  - Smith, Tom\n\nOWN - ERIC\nTI  - Two\n"
    assert [each["title"] for each in fields(text)] == ["One", "Two"]


@pytest.mark.parametrize("text", [BIB, RIS, json.dumps([ITEM, ITEM])])
def test_a_bibliography_is_one_paper_with_limits(text: str):
    pytest.importorskip("pybtex")
    content = Content(text.encode())
    (one,) = parse(content)
    assert one.paper.id.startswith("sha256:")
    assert one.paragraphs == ()
    with pytest.raises(TooLarge):
        parse(content, options=Options(limits=Limits(references=1)))
    with pytest.raises(TooLarge):
        parse(content, options=Options(limits=Limits(size=10)))


@pytest.mark.parametrize(
    ("pattern", "mark", "name"),
    [("csl/*.bib", b"@", "bibtex"), ("latex/*/*.bib", b"@", "bibtex"), ("csl/*.ris", b"\nER", "ris")],
)
def test_each_record_of_the_real_files_is_a_reference(pattern: str, mark: bytes, name: str):
    pytest.importorskip("pybtex")
    for path in samples(pattern):
        data = path.read_bytes()
        if recognising(data) != [name]:
            assert path.name in ("jabref_RisImporterCorrupted.ris", "rispy_example_wos.ris")
            continue
        if path.name == "rispy_example_multiline.ris":  # notes only
            continue
        if name == "bibtex":
            entries = [line for line in data.lower().splitlines() if line.lstrip().startswith(mark)]
            dropped = (b"@comment", b"@string", b"@preamble", b"@set", b"@xdata")
            expected = sum(not line.lstrip().startswith(dropped) for line in entries)
        else:
            expected = data.count(mark)
            if path.name == "jabref_RisImporterTest1.ris":  # begins with types alone
                expected = 3
        assert len(fields(data)) == expected, path.name


def test_a_real_entry_inherits_from_its_book():
    pytest.importorskip("pybtex")
    (found,) = [each for each in fields(sample("csl/biblatex-examples.bib")) if each["xml_id"] == "westfahl:space"]
    assert (found["venue"], found["year"], found["editors"]) == ("Space and Beyond", 2000, ["Westfahl"])

"""S2ORC: entries and mentions of the shared samples and of made-up papers; links written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflink.contexts.engine import contexts_of
from reflink.entities import Ids, Link, Reference, Work
from reflink.errors import NotAPaper
from reflink.formats import Content, Decision, Options, Parsed, format_named, format_of
from tests.data import shared_data

FORMAT = format_named("s2orc")
WORK = Work(id="doi:10.1/w", ids=Ids(doi="10.1/w", pmid="7"))
ENTRY = {
    "ref_id": "b0", "title": "On growth", "authors": [{"first": "Ann", "middle": ["B"], "last": "Doe", "suffix": ""}],
    "year": 2001, "venue": "J Growth", "volume": "12", "issn": "3", "pages": "101--104", "other_ids": {"DOI": ["10.1000/G"]},
    "link": "999",
}  # fmt: skip
TEXT = "It grows [1]. It does."
PAPER = {
    "paper_id": "42", "metadata": {"title": "The paper"},
    "abstract": [], "bib_entries": {"BIBREF0": ENTRY, "BIBREF1": {**ENTRY, "title": "Other", "other_ids": {}, "link": None}},
    "body_text": [{"text": TEXT, "section": "Results", "ref_spans": [],
                   "cite_spans": [{"start": 9, "end": 12, "text": "[1]", "ref_id": "BIBREF0"}]}],
}  # fmt: skip


def parsed(value: Any, *, text: bool = False) -> Parsed:
    content = Content(json.dumps(value).encode(), "x")
    assert format_of(content) is FORMAT
    (found,) = FORMAT.parse(content, Options(infer=False, text=text))
    return found


def decisions(references: tuple[Reference, ...], cited: str | None = WORK.id) -> dict[str, Decision]:
    return {
        each.id: Decision(
            Link(reference=each.id, citing=each.citing, cited=cited, probability=0.98765), WORK if cited else None
        )
        for each in references
    }


def test_the_fields_of_an_entry():
    first, second = parsed(PAPER).paper.references
    assert (first.title, first.venue, first.year, first.volume) == ("On growth", "J Growth", 2001, "12")
    assert (first.first_page, first.last_page, first.last_names) == ("101", "104", ("Doe",))
    assert (first.ids.doi, first.xml_id) == ("10.1000/g", "BIBREF0")
    assert (second.title, second.ids.keys()) == ("Other", ())


def test_the_mentions_of_the_text():
    found = parsed(PAPER, text=True)
    (paragraph,) = (each for each in found.paragraphs if each.mentions)
    (mention,) = paragraph.mentions
    assert (paragraph.text[mention.start : mention.stop], mention.entries, paragraph.section) == (
        "[1]",
        ("BIBREF0",),
        ("Results",),
    )
    contexts = contexts_of(found.paper, found.paragraphs)
    assert [len(each) for each in contexts.values()] == [1, 0]
    assert next(iter(contexts.values()))[0].sentence == "It grows [1]."


@pytest.mark.parametrize("wrap", ["pdf_parse", "latex_parse"])
def test_the_schemas_have_the_same_references(wrap: str):
    flat = parsed(PAPER).paper
    rest = {key: value for key, value in PAPER.items() if key != "metadata"}
    nested = parsed({"paper_id": "42", "title": "The paper", wrap: rest}).paper
    assert [each.to_dict() | {"id": "", "citing": ""} for each in nested.references] == [
        each.to_dict() | {"id": "", "citing": ""} for each in flat.references
    ]


def test_links_are_written_and_nothing_else_changes():
    data = json.dumps(PAPER, indent=2).encode()
    references = FORMAT.parse(Content(data, "x"), Options())[0].paper.references
    written = FORMAT.with_links(Content(data, "x"), decisions(references[:1]))
    changed = json.loads(written)
    first = changed["bib_entries"]["BIBREF0"]
    assert (first["link"], first["link_ids"], first["link_probability"]) == (WORK.id, {"DOI": "10.1/w", "PMID": "7"}, 0.988)
    for name in ("link", "link_ids", "link_probability"):
        first.pop(name)
    first["link"] = "999"
    assert changed == PAPER
    assert FORMAT.with_links(Content(written, "x"), decisions(references[:1])) == written
    assert FORMAT.parse(Content(written, "x"), Options())[0].paper.references == references


def test_without_a_link_the_file_keeps_its_own():
    data = json.dumps(PAPER).encode()
    references = FORMAT.parse(Content(data, "x"), Options())[0].paper.references
    assert FORMAT.with_links(Content(data, "x"), {}) == data
    assert FORMAT.with_links(Content(data, "x"), decisions(references, None)) == data
    linked = FORMAT.with_links(Content(data, "x"), decisions(references))
    again = json.loads(FORMAT.with_links(Content(linked, "x"), decisions(references, None)))
    assert [entry["link"] for entry in again["bib_entries"].values()] == [None, None]


@pytest.mark.parametrize("value", [{}, [], {"title": "x"}, {"bib_entries": 1}, {"paper_id": "1"}, [{"title": "x"}], 1, "x"])
def test_other_json_is_none(value: Any):
    content = Content(json.dumps(value).encode())
    assert not FORMAT.recognises(content)
    with pytest.raises(NotAPaper):
        FORMAT.parse(content, Options())


def samples() -> list[Path]:
    return [path for path in sorted((shared_data() / "sources" / "s2orc").glob("*.json")) if path.stem != "s2ag_Reference"]


def test_every_entry_and_span_of_the_samples_is_read():
    for path in samples():
        value = json.loads(path.read_bytes())
        part = value.get("pdf_parse") or value.get("latex_parse") or value
        if "bib_entries" not in part:
            continue
        (found,) = FORMAT.parse(Content(path.read_bytes(), path.stem), Options(infer=False, text=True))
        named = {key for key, entry in part["bib_entries"].items() if entry.get("title") or entry.get("raw_text")}
        assert named <= {each.xml_id for each in found.paper.references}, path.name
        spans = sum(
            span.get("ref_id") in part["bib_entries"]
            for block in (*part.get("abstract", ()), *part["body_text"])
            if isinstance(block, dict)
            for span in block.get("cite_spans", ())
        )
        assert sum(len(each.mentions) for each in found.paragraphs) >= spans, path.name
        for paragraph in found.paragraphs:
            assert all(paragraph.text[each.start : each.stop].strip() for each in paragraph.mentions if each.stop > each.start)

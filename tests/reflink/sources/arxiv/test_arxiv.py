"""Preprints of arXiv: lines of its snapshot, and answers of its OAI interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from reflink.entities import Ids, Work
from reflink.errors import BadDump, BadRecord, DamagedFile
from reflink.sources.arxiv import Arxiv, oai_record, record
from reflink.sources.source import SourceFile, SourceRecord
from tests.data import shared_data
from tests.profiles import examples

LINE: dict[str, Any] = {
    "id": "hep-th/9901001", "authors": "A. Müller and B. Smith",
    "title": "Proof of\n  $\\alpha$-decay in Schr\\\"odinger's cat",
    "journal-ref": "Phys.Rev.D76:013009,2007", "doi": "10.1000/A.1 10.1000/erratum", "update_date": "2008-11-26",
    "versions": [{"version": "v1", "created": "Mon, 4 Jan 1999 19:18:42 GMT"}, {"version": "v2", "created": "x"}],
    "authors_parsed": [["Müller", "A.", ""], ["Smith", "B.", "Jr."], ["The BABAR Collaboration", "", ""]],
}  # fmt: skip
WORK = Work(
    id="doi:10.1000/a.1", ids=Ids(doi="10.1000/a.1", arxiv="hep-th/9901001"), title="Proof of α-decay in Schrödinger's cat",
    authors=("Müller", "Smith", "BABAR Collaboration"), collectives=("BABAR Collaboration",), venue="Phys.Rev.D", year=2007,
    online_year=1999, volume="76", fpage="013009", type="journal-article",
)  # fmt: skip

HEADER = "<header><identifier>oai:arXiv.org:hep-th/9901001</identifier><datestamp>2008-11-26</datestamp></header>"
OAI = f"""<record>{HEADER}<metadata><arXiv xmlns="http://arxiv.org/OAI/arXiv/" xsi:schemaLocation="x">
<id>hep-th/9901001</id><created>1999-01-04</created><updated>2008-11-25</updated>
<authors><author><keyname>Müller</keyname><forenames>A.</forenames></author>
<author><keyname>Smith</keyname><forenames>B.</forenames><suffix>Jr.</suffix></author>
<author><keyname>Collaboration</keyname><forenames>for the BABAR</forenames></author></authors>
<title>Proof of $\\alpha$-decay in Schr\\"odinger's
  cat</title><journal-ref>Phys.Rev.D76:013009,2007</journal-ref><doi>10.1000/A.1</doi></arXiv></metadata></record>"""
RAW = f"""<record>{HEADER}<metadata><arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/"><id>hep-th/9901001</id>
<version version="v1"><date>Mon, 4 Jan 1999 19:18:42 GMT</date></version><version version="v2"><date>x</date></version>
<title>Proof of $\\alpha$-decay in Schr\\"odinger's cat</title>
<authors>A. M\\"uller, B. Smith (for the BABAR Collaboration)</authors>
<journal-ref>Phys.Rev.D76:013009,2007</journal-ref><doi>10.1000/A.1</doi></arXivRaw></metadata></record>"""
DC = f"""<record>{HEADER}<metadata><oai_dc:dc><dc:title>Proof of $\\alpha$-decay in Schr\\"odinger's cat</dc:title>
<dc:creator>Müller, A.</dc:creator><dc:creator>Smith, B.</dc:creator><dc:creator>The BABAR Collaboration</dc:creator>
<dc:date>1999-01-04</dc:date><dc:identifier>http://arxiv.org/abs/hep-th/9901001</dc:identifier>
<dc:identifier>Phys.Rev.D76:013009,2007</dc:identifier><dc:identifier>doi:10.1000/A.1</dc:identifier></oai_dc:dc></metadata></record>"""
DELETED = HEADER.replace("<header>", '<record><header status="deleted">') + "</record>"


def answer(*records: str) -> str:
    return f'<?xml version="1.0"?><OAI-PMH><ListRecords>{"".join(records)}<resumptionToken/></ListRecords></OAI-PMH>'


@pytest.mark.parametrize("found", [record(LINE), *(oai_record(xml.encode()) for xml in (OAI, RAW, DC))])
def test_every_format_gives_the_same_work(found: SourceRecord):
    assert found.key == "hep-th/9901001"
    assert found.work == WORK
    assert Work.from_json(WORK.to_json()) == WORK


def test_a_preprint_that_was_not_published():
    work = record({"id": "2001.00001v3", "title": "T", "authors": "Anna Lee, et al.", "doi": None, "versions": [{}]}).work
    assert work == Work(id="arxiv:2001.00001", ids=Ids(arxiv="2001.00001"), title="T", authors=("Lee",), type="posted-content")


def test_a_deleted_record_is_withdrawn():
    found = oai_record(DELETED.encode())
    assert (found.key, found.work, found.version) == ("hep-th/9901001", None, record({**LINE, "versions": []}).version)


def test_the_newer_state_has_the_greater_version():
    versions = [record({**LINE, "update_date": day}).version for day in ("2008-11-26", "2008-11-27", "2009-01-01", None)]
    assert versions[3] < versions[0] < versions[1] < versions[2]
    assert record({**LINE, "versions": [{}, {}, {}]}).version > versions[0]


@pytest.mark.parametrize("xml", ["<record/>", "<record><header/></record>", DELETED.replace("hep-th", "x y"), RAW[:-4]])
def test_faults_of_a_record(xml: str):
    with pytest.raises(BadRecord):
        oai_record(xml.encode())
    with pytest.raises(BadRecord, match="not an id"):
        record({"id": "12"})


def test_files_of_both_kinds(tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps(LINE) + "\n{\n" + json.dumps({"id": 1}) + "\n" + json.dumps(LINE) + "\n")
    (tmp_path / "b.xml").write_text(answer(OAI, DELETED.replace("</record>", "<x></record>"), RAW))
    source = Arxiv()
    found = [each for file in source.files([tmp_path]) for each in source.read(file)]
    assert [each.key if isinstance(each, SourceRecord) else str(each)[:12] for each in found] == [
        "hep-th/9901001", "a.json:2: no", "a.json:3: id", "hep-th/9901001", "hep-th/9901001", "b.xml: recor", "hep-th/9901001",
    ]  # fmt: skip
    with pytest.raises(BadDump):
        source.files([tmp_path / "absent"])
    (tmp_path / "b.xml").write_text(answer(OAI)[:-20])
    with pytest.raises(DamagedFile):
        list(source.read(SourceFile(tmp_path / "b.xml", "b.xml")))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(LINE)), _VALUES))
@settings(max_examples=examples(100))
def test_any_values_give_a_valid_work(values: dict[str, Any]):
    work = record({**LINE, **values, "id": LINE["id"]}).work
    assert work is not None
    assert Work.from_json(work.to_json()) == work


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=examples(100))
def test_any_bytes_give_a_record_or_a_bad_record(data: bytes):
    for xml in (data, RAW.encode().replace(b"Proof", data)):
        try:
            assert oai_record(xml).key
        except BadRecord as error:
            assert len(str(error)) < 500  # noqa: PT017 - both results are right


def test_the_real_files():
    folder = shared_data() / "sources" / "arxiv"
    source = Arxiv()
    plain = [json.loads(line)["id"] for line in (folder / "arxiv-metadata-oai-snapshot.json").open()]
    (snapshot,) = source.files([folder / "arxiv-metadata-oai-snapshot.json"])
    found = [each for each in source.read(snapshot) if isinstance(each, SourceRecord)]
    assert [each.key for each in found] == plain
    works = [each.work for each in found if each.work]
    assert sum(work.ids.doi is not None for work in works) == 117
    assert sum(work.volume is not None for work in works) >= 100  # of 109 with a reference to a journal
    for path in folder.glob("*.xml"):
        (file,) = source.files([path])
        identifiers = etree.parse(path).xpath("//*[local-name()='header']/*[local-name()='identifier']/text()")
        records = list(source.read(file))
        assert [each.key for each in records if isinstance(each, SourceRecord)] == [
            each.removeprefix("oai:arXiv.org:") for each in identifiers
        ]
        for each in records:
            assert isinstance(each, SourceRecord)
            assert each.work is not None
            assert each.work.title
            assert each.work.authors
            assert each.work.year

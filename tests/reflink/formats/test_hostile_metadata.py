"""Damaged and hostile content of the formats of metadata and publishers: named errors, bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import NotAPaper, PackageMissing, TooLarge
from reflink.formats import Content, Options, format_named
from reflink.formats.registry import formats
from reflink.limits import Limits
from tests.profiles import examples
from tests.reflink.formats.samples import sample
from tests.reflink.formats.test_pubmed import LISTS, article, of

SAMPLES = {
    "crossref": "crossref/hepcrawl_2018.3804742.json",
    "crossref-xml": "crossref/xml/crossref_no_contrib_10.3367_UFNe.2022.11.039660.xml",
    "csl": "csl/citeproc.json",
    "bibtex": "csl/colrev_scopus_bib.bib",
    "ris": "csl/rispy_example_full.ris",
    "elsevier": "elsevier/hepcrawl_sample_consyn_record.xml",
    "springer": "springer_aplusplus/sp_role.xml",
    "wiley": "publisher_refs/wiley_jgra_12057.xml",
    "nature": "publisher_refs/nature_full_4.xml",
    "rsc": "publisher_refs/rsc_0.xml",
    "iop": "publisher_refs/iop_0.xml",
    "references": "publisher_refs/test.aip.xml",
    "pubmed": "",
}
OPTIONS = Options(Limits(size=1 << 20, references=500), infer=False, text=True)
#: Seconds within which hostile content must be read or refused; it takes a hundredth on an idle machine.
SECONDS = 20


def read(name: str, data: bytes) -> None:
    content = Content(data, "x")
    for each in formats():
        each.recognises(content)
    try:
        for found in format_named(name).parse(content, OPTIONS):
            found.paper.to_json().decode()
            for paragraph in found.paragraphs:
                assert paragraph.text == " ".join(paragraph.text.split())
    except (NotAPaper, TooLarge, PackageMissing):
        return


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_samples(name: str):
    whole = (sample(SAMPLES[name]) if SAMPLES[name] else of(article("1", LISTS)))[:60_000]

    @settings(max_examples=examples(40))
    @given(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.binary(max_size=6), st.integers(0, 40)), max_size=4))
    def check(changes: list[tuple[int, bytes, int]]) -> None:
        data = whole
        for at, inserted, removed in changes:
            data = data[:at] + inserted + data[at + removed :]
        read(name, data)

    check()


HOSTILE = {
    "csl": b"[" * 100_000,
    "crossref": b'{"DOI":"10.1/1","reference":' + b"[" * 900 + b"]" * 900 + b"}",
    "elsevier": b"<ce:bib-reference>" * 300,
    "springer": b"<Publisher>" + b"<Citation><BibUnstructured>" * 100 + b"x",
    "references": b"<ADSBIBCODE>x</ADSBIBCODE>" + b"<reference content_type='text'>" * 30_000,
    "nature": b"<article><pubfm/>" + b"<bib><reftxt>" * 20_000,
    "bibtex": b"@article{a, title = {" + b"{" * 500_000,
    "ris": b"TY  - JOUR\nAU  - " + b"a " * 500_000,
    "crossref-xml": b"<doi_batch>" + b"<citation_list><citation>" * 20_000,
    "pubmed": b"<PubmedArticleSet>" + b"<ReferenceList><Reference>" * 20_000,
    "wiley": b"<component>" + b"<bib>" * 100 + b"<p>" * 100 + b"</p>" * 100,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content_takes_bounded_time(name: str):
    start = time.thread_time()
    read(name, HOSTILE[name])
    read(name, HOSTILE[name].replace(b">", b" ", 1))
    assert time.thread_time() - start < SECONDS


@pytest.mark.parametrize("name", SAMPLES)
def test_the_limits(name: str):
    data = sample(SAMPLES[name]) if SAMPLES[name] else of(article("1", LISTS))
    with pytest.raises(TooLarge):
        format_named(name).parse(Content(data, "x"), Options(Limits(size=100)))
    if name != "springer":  # a header without references
        with pytest.raises(TooLarge):
            format_named(name).parse(Content(data, "x"), Options(Limits(references=0)))

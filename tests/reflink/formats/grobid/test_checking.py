"""Identifiers from GROBID's consolidation that contradict the printed citation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reflink import jats
from reflink.entities import Reference
from reflink.formats.grobid.checking import doubted
from tests.reflink.formats.samples import samples

PRINTED = "Bogdan A, Clark J. Manubrio-sternal joint in rheumatoid arthritis. Br Med J 1950; 16: 1361-2."
SAME: dict[str, Any] = {
    "last_names": ("Bogdan", "Clark"), "year": 1950, "volume": "16", "first_page": "1361",
    "title": "Manubrio-sternal joint in rheumatoid arthritis",
}  # fmt: skip
OTHER: dict[str, Any] = {
    "last_names": ("Berejnov", "Husseini"), "year": 2006, "volume": "39", "first_page": "244",
    "title": "Effects of cryoprotectant concentration and cooling rate on vitrification",
}  # fmt: skip
DOI = {"doi": "10.1136/bmj.1.4668.1361"}


@pytest.mark.parametrize(("printed", "fields", "ids", "expected"), [
    (PRINTED, SAME, DOI, None),
    (PRINTED, OTHER, DOI, "work"),
    (PRINTED, OTHER, {}, None),  # nothing that could be wrong
    ("", OTHER, DOI, None),  # nothing to compare with
    (PRINTED + " doi:10.1136/bmj.1.4668.1361", OTHER, DOI, None),  # the identifier is printed
    (PRINTED + " https://doi.org/10.1136/ bmj.1.4668 .1361", SAME, DOI, None),
    (PRINTED + " doi:10.1136/bmj.1.4668", SAME, DOI, None),  # cut at the end of a line
    (PRINTED + " doi:10.1136/bmj.l.4668.1361", SAME, DOI, None),  # one wrong character
    (PRINTED + " doi:10.1016/s0140-6736(00)02738-0", SAME, DOI, "identifier"),
    (PRINTED + " PMID: 15405859", SAME, {"pmid": "7"}, "identifier"),
    (PRINTED + " arXiv:1706.03762", SAME, {"arxiv": "1706.03761"}, "identifier"),
    (PRINTED, {**SAME, "year": 1951, "title": None}, DOI, None),
    (PRINTED, {**SAME, "last_names": ("Husseini",), "title": None}, DOI, None),  # a misread name
    ("A. Bogdan, Br. Med. J. 16 (1950) 1361", {**SAME, "title": "Another title that is not printed"}, DOI, None),
])  # fmt: skip
def test_identifiers(printed: str, fields: dict[str, Any], ids: dict[str, str], expected: str | None):
    assert doubted(printed, fields, ids) == expected


def gold() -> Iterator[tuple[str, list[Reference]]]:
    for path in samples("tei/gold_*.nxml"):
        yield path.name, [each for each in jats.parse(path.read_bytes(), source="x").references if each.title and each.year]


def test_the_records_of_other_works_are_noticed_and_the_right_ones_are_trusted():
    right = wrong = noticed = 0
    for _, references in gold():
        for at, reference in enumerate(references):
            other = references[(at + 1) % len(references)]
            right += doubted(reference.raw_query, dict(reference), DOI) is None
            if other.last_names[:1] != reference.last_names[:1]:
                wrong += 1
                noticed += doubted(reference.raw_query, dict(other), DOI) == "work"
    assert right == sum(len(references) for _, references in gold())
    assert wrong > 100
    assert noticed >= 0.9 * wrong  # the others share authors, words and years with the work after them

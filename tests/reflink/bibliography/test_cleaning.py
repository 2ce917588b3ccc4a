"""Values of fields are one clean line, whatever a file states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflink.bibliography.citation import described
from reflink.bibliography.cleaning import cleaned, line
from reflink.bibliography.papers import own_name, paper
from reflink.bibliography.references import Entry
from reflink.entities import Ids
from reflink.limits import Limits
from tests.campaigns.fuzz.checks import check_paper, json_of

TEXTS = st.text(max_size=20) | st.sampled_from(["\x00", " ", "a\tb", "\ud800x", "\x85", "\ufffe", "10.1/x", "a  b", "\xa0"])
NAMES = st.lists(TEXTS, max_size=4).map(tuple)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXTS, "venue": TEXTS, "volume": TEXTS, "first_page": TEXTS, "kind": TEXTS, "publisher": TEXTS,
        "editors": NAMES,
        "last_names": NAMES, "given_names": NAMES, "collectives": NAMES, "year": st.none() | st.integers(-5, 99999),
    },
)  # fmt: skip


@given(TEXTS)
def test_a_line_is_clean_and_stays_itself(text: str):
    found = line(text)
    assert found == " ".join(found.split()) == line(found)
    assert not any(ord(each) < 32 or 0xD800 <= ord(each) < 0xE000 for each in found)


def test_names_keep_their_given_names():
    fields = {"last_names": ("Roe", " ", "Li\x00"), "given_names": ("R.", "X.", "")}
    assert cleaned(fields) == {"last_names": ("Roe", "Li"), "given_names": ("R.", "")}
    assert cleaned({"last_names": ("Roe", "Li"), "given_names": ("R.",)}) == {"last_names": ("Roe", "Li")}
    assert cleaned({"last_names": ("Roe",), "given_names": None}) == {"last_names": ("Roe",)}
    assert cleaned({"last_names": (" ",), "given_names": ("R.",), "title": "\x01", "year": 1499}) == {}
    assert cleaned({"year": 1500, "ids": Ids(doi="10.1/a"), "venue": None}) == {"year": 1500, "ids": Ids(doi="10.1/a")}


@given(st.lists(st.tuples(TEXTS, TEXTS | st.none(), FIELDS), max_size=4), TEXTS, TEXTS)
def test_any_fields_give_a_valid_paper(found: list[tuple[str, str | None, dict[str, object]]], title: str, source: str):
    entries = [
        Entry(name, label, [citation]) for name, label, fields in found if (citation := described("", dict(fields)))
    ]  # fmt: skip
    own = own_name(b"", source)
    made = paper({"title": title, "year": 12}, entries, own_name=own, source=source, limits=Limits(), infer=False)
    check_paper(made, json_of(made))


@given(TEXTS, FIELDS)
def test_the_text_of_a_citation_is_its_printed_text_or_its_fields(text: str, fields: dict[str, object]):
    citation = described(text, dict(fields))
    if citation is None:
        assert not line(text)
        return
    assert citation["raw_text"]
    if line(text):
        assert citation["raw_text"] == line(text)
